import { use, useEffect, useState } from 'react';
import { RunIdContext } from '../state/selection.ts';
import { errorText, useSession } from '../state/session.ts';
import type { ValueImage } from '../view/table.ts';

/** An image of a result. Its bytes are in the result, or the server has them. */
export function ResultImage({ image }: { readonly image: ValueImage }) {
  const { mediaType, data, path, sha256 } = image;
  const { src = data === undefined ? undefined : `data:${mediaType};base64,${data}`, problem } = useLoadedImage(image);
  if (src !== undefined) return <img className="value-image" src={src} alt={path ?? 'Image of the result'} />;
  return (
    <p className="dim">
      Image {path ?? mediaType}
      {sha256 !== undefined && problem === undefined && ' is loading …'}
      {problem !== undefined && `: ${problem}`}
    </p>
  );
}

function useLoadedImage({ data, sha256 }: ValueImage): {
  readonly src?: string | undefined;
  readonly problem?: string | undefined;
} {
  const { client } = useSession();
  const runId = use(RunIdContext);
  const [loaded, setLoaded] = useState<{ src?: string | undefined; problem?: string | undefined }>({});
  useEffect(() => {
    if (data !== undefined || sha256 === undefined || runId === undefined) return undefined;
    const stop = new AbortController();
    client.runs
      .image(runId, sha256, { signal: stop.signal })
      .then(dataUrl)
      .then((src) => setLoaded({ src }))
      .catch((error: unknown) => stop.signal.aborted || setLoaded({ problem: errorText(error) }));
    return () => stop.abort();
  }, [client, runId, data, sha256]);
  return loaded;
}

/** The image as a `data:` URL, which the page's content security policy allows. */
function dataUrl(blob: Blob): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener('load', () => resolve(String(reader.result)));
    reader.addEventListener('error', () => reject(new Error('The image cannot be read. Reload the page.')));
    reader.readAsDataURL(blob);
  });
}
