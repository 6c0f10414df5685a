import { useEffect, useState } from 'react';
import type { ThreadFile } from '@toolscript/client';
import { ConfirmDialog } from '../parts/confirm-dialog.tsx';
import { IconButton } from '../parts/icon-button.tsx';
import { errorText, useSession } from '../state/session.ts';
import { saveFile } from '../parts/save-file.ts';
import { useNow } from '../parts/use-now.ts';
import { age, bytes, plural } from '../view/format.ts';
import { fileGroups } from '../view/file-groups.ts';
import { visible } from '../view/visible.ts';

interface FilesPanelProps {
  readonly threadId: string;
  readonly files: readonly ThreadFile[];
  readonly hasMore: boolean;
  /** Called after a file was deleted. */
  readonly onChange: () => void;
  readonly onClose: () => void;
}

/** The files that the scripts of the conversation have saved. */
export default function FilesPanel({ threadId, files, hasMore, onChange, onClose }: FilesPanelProps) {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key === 'Escape' && document.querySelector('dialog[open]') === null) onClose();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, [onClose]);
  return (
    <aside className="inspector" aria-label="Files of the conversation">
      <header className="inspector-head">
        <h2>Files</h2>
        <IconButton icon="close" label="Close the files" onClick={onClose} />
      </header>
      {files.length === 0 && <p className="dim">Scripts have saved no files in this conversation.</p>}
      {fileGroups(files).map(([title, members]) => (
        <section key={title} aria-label={title}>
          <h3>{title}</h3>
          <ul className="files">
            {members.map((file) => (
              <FileEntry key={file.fileKey} threadId={threadId} file={file} onChange={onChange} />
            ))}
          </ul>
        </section>
      ))}
      {hasMore && <p className="dim">Only the first {files.length} files are shown.</p>}
    </aside>
  );
}

interface FileEntryProps {
  readonly threadId: string;
  readonly file: ThreadFile;
  readonly onChange: () => void;
}

function FileEntry({ threadId, file, onChange }: FileEntryProps) {
  const { fileKey, title, version, source } = file;
  const [versions, setVersions] = useState<readonly ThreadFile[]>();
  const [isDeleting, setDeleting] = useState(false);
  const { client, notice } = useSession();
  const name = visible(fileKey);
  const showVersions = async () => {
    if (versions !== undefined) return setVersions(undefined);
    try {
      setVersions(await client.files.versions(threadId, fileKey));
    } catch (error) {
      notice.set(errorText(error));
    }
  };
  return (
    <li className="file">
      <h4 dir="auto">{name}</h4>
      {title !== undefined && <p dir="auto">{visible(title)}</p>}
      {source?.kind === 'web' && (
        <p className="dim file-source" title="Strangers wrote this text.">
          From the web: {visible(source.url ?? '')}
        </p>
      )}
      <Version threadId={threadId} file={file} />
      <div className="file-actions">
        {version > 1 && (
          <button
            type="button"
            className="link"
            aria-expanded={versions !== undefined}
            aria-label={`Versions of ${name}`}
            onClick={() => void showVersions()}
          >
            {versions === undefined ? 'Earlier versions' : 'Hide the versions'}
          </button>
        )}
        <button type="button" className="link" aria-label={`Delete ${name}`} onClick={() => setDeleting(true)}>
          Delete…
        </button>
      </div>
      {versions?.slice(1).map((one) => (
        <Version key={one.version} threadId={threadId} file={one} />
      ))}
      {isDeleting && (
        <DeleteFile threadId={threadId} file={file} onDeleted={onChange} onClose={() => setDeleting(false)} />
      )}
    </li>
  );
}

function Version({ threadId, file }: Omit<FileEntryProps, 'onChange'>) {
  const { client, notice } = useSession();
  const now = useNow(60_000);
  const { fileKey, version, createdAt, expiresAt } = file;
  const download = async () => {
    try {
      saveFile(fileKey.split('/').at(-1)!, await client.files.text(threadId, fileKey, { version }));
    } catch (error) {
      notice.set(errorText(error));
    }
  };
  const size = bytes(file.bytes);
  return (
    <p className="dim file-version">
      <span>
        Version {version} · {size} · <time title={new Date(createdAt).toLocaleString()}>{age(createdAt, now)}</time>
        {expiresAt !== undefined && <> · until {new Date(expiresAt).toLocaleString()}</>}
      </span>
      <button
        type="button"
        className="link"
        aria-label={`Download version ${version} of ${visible(fileKey)}`}
        onClick={() => void download()}
      >
        Download
      </button>
    </p>
  );
}

interface DeleteFileProps {
  readonly threadId: string;
  readonly file: ThreadFile;
  readonly onDeleted: () => void;
  readonly onClose: () => void;
}

function DeleteFile({ threadId, file: { fileKey, version }, onDeleted, onClose }: DeleteFileProps) {
  const { client } = useSession();
  const remove = () => client.files.delete(threadId, fileKey);
  return (
    <ConfirmDialog title="Delete the file?" action="Delete" onConfirm={remove} onClose={onClose} onEnd={onDeleted}>
      <p dir="auto">
        This deletes {visible(fileKey)} with {plural(version, 'version')}. The scripts of this conversation can then no
        longer read the file.
      </p>
    </ConfirmDialog>
  );
}
