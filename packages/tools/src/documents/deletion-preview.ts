import { previewText } from '@toolscript/core/internal';
import type { DocumentDeletion, DocumentStore } from '@toolscript/core/protocol';

/** The preview of a deletion: what is lost, and how much of it. Later versions than `ifVersion` do not change it. */
export async function deletionPreview(documents: DocumentStore, deletion: DocumentDeletion): Promise<string> {
  const { kind, name, scope, ifVersion = Infinity } = deletion;
  const place = { kind, name, scope };
  const versions = (await documents.versions(place)).filter(({ version }) => version <= ifVersion);
  const newest = versions[0] && (await documents.read(place, versions[0].version));
  const title = `Delete the ${kind} ${JSON.stringify(name)} (${scope.kind})`;
  if (newest === undefined) return previewText({ title, facts: { Found: 'nothing' } });
  const facts = { Versions: `${versions.length}`, Newest: `version ${newest.version}, ${newest.bytes} bytes` };
  return previewText({ title, facts, notes: { Text: newest.text } });
}
