import type { ApprovalPolicy } from '@toolscript/core/protocol';
import type { ScriptUndo } from '@toolscript/server/access';
import { withoutAsking } from '../approvals/approvals.js';
import type { Settings } from '../configuration/settings.js';
import { openHarness, type HarnessSettings } from '../harness/open-harness.js';
import type { PersistentState } from '../state/persistent-state.js';
import { FolderUndo } from './script-undo.js';

export interface OpenUndo {
  readonly undo: ScriptUndo;
  close(): Promise<void>;
}

type Parts = Pick<HarnessSettings, 'audit' | 'onInternalError' | 'engines'> & { readonly kept: PersistentState };

/** Opens the undo for the scripts of the settings' workspace. The harness is opened when it is first used. */
export async function openUndo(settings: Settings, parts: Parts): Promise<OpenUndo> {
  const tools = await import('@toolscript/tools');
  const workspace = tools.createWorkspace({
    roots: settings.cwd,
    undo: { folder: parts.kept.folder.changesFolder },
  });
  let opening: ReturnType<typeof openHarness> | undefined;
  const harness = async () => (await (opening ??= openHarness(settings, parts))).harness;
  return {
    undo: new FolderUndo({ workspace, harness, approvals: confirmedPolicy(settings), tools }),
    close: async () => {
      await (await opening)?.harness.close();
    },
  };
}

/** The policy for an undo that the user has confirmed: only `deny` still applies. */
function confirmedPolicy({ approve, rules }: Settings): ApprovalPolicy {
  return withoutAsking(approve === 'deny' ? 'deny' : 'auto', rules);
}
