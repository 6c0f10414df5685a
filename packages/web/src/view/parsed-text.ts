/** The value of a JSON text; the text itself if it is not valid JSON. */
export function parsedText(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return json;
  }
}
