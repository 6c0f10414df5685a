import type { KeptScriptDetails } from '@toolscript/core';
import type { ScriptStage } from '../commands/script-command.js';

/** A suspended script, and the data for decisions about its approvals. */
export interface AskedAbout extends Pick<ScriptStage, 'validateInput' | 'rules' | 'approvals' | 'harness' | 'signal'> {
  readonly details: KeptScriptDetails;
}
