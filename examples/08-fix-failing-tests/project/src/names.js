export function initials(name) {
  return name
    .split(' ')
    .map(([first]) => first)
    .join('');
}
