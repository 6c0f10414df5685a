/** The paths of the icons, which are drawn in a 16 × 16 box, in the colour of the text. */
const PATHS = {
  plus: 'M8 3v10M3 8h10',
  search: 'M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10Zm4-1 3 3',
  more: 'M3.5 8h.01M8 8h.01M12.5 8h.01',
  send: 'M8 13V3M4 7l4-4 4 4',
  stop: 'M4.5 4.5h7v7h-7z',
  attach: 'm12.5 7.5-4.8 4.8a3 3 0 0 1-4.2-4.2l5.5-5.5a2 2 0 0 1 2.8 2.8l-5.4 5.4a1 1 0 0 1-1.4-1.4L9.5 5',
  close: 'm4 4 8 8M12 4l-8 8',
  check: 'm3 8.5 3.2 3.2L13 5',
  chevron: 'm6 4 4 4-4 4',
  play: 'M5 3.5v9l7-4.5z',
  pause: 'M5.5 4v8M10.5 4v8',
  menu: 'M2.5 4.5h11M2.5 8h11M2.5 11.5h11',
  settings:
    'M8 10a2 2 0 1 0 0-4 2 2 0 0 0 0 4Zm0-8v2m0 8v2M2 8h2m8 0h2M3.8 3.8l1.4 1.4m5.6 5.6 1.4 1.4m0-8.4-1.4 1.4m-5.6 5.6-1.4 1.4',
  copy: 'M5.5 5.5v-3h8v8h-3m-8-5h8v8h-8z',
  undo: 'M6 3 2.500 6.500 6 10M2.500 6.500h7a3.500 3.500 0 0 1 0 7H6',
  retry: 'M13 8a5 5 0 1 1-1.6-3.700M13 2.500v3h-3',
  link: 'M7 9.5 9.500 7M6 7.500 4 9.500a2 2 0 0 0 2.500 2.500l2-2M10 8.500l2-2a2 2 0 0 0-2.500-2.500l-2 2',
  edit: 'M10.5 3 13 5.5 5.5 13H3v-2.5z',
  hourglass: 'M4.5 2.5h7m-7 11h7m-6-11c0 3 5 4 5 5.500s-5 2.500-5 5.500m5-11c0 3-5 4-5 5.500s5 2.500 5 5.500',
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg className="icon" viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  );
}
