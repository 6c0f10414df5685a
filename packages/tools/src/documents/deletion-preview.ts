import { previewText } from '@toolscript/core/internal';
import type { DocumentPlace, DocumentStore } from '@toolscript/core/protocol';

/** The preview of a deletion: what is lost, and how much of it. */
export async function deletionPreview(documents: DocumentStore, place: DocumentPlace): Promise<string> {
  const { kind, name, scope } = place;
  const [versions, newest] = await Promise.all([documents.versions(place), documents.read(place)]);
  const title = `Delete the ${kind} ${JSON.stringify(name)} (${scope.kind})`;
  if (newest === undefined) return previewText({ title, facts: { Found: 'nothing' } });
  const facts = { Versions: `${versions.length}`, Newest: `version ${newest.version}, ${newest.bytes} bytes` };
  return previewText({ title, facts, notes: { Text: newest.text } });
}
