/** The first of these texts, separated by commas, and how many there are beside them. */
export function someNames(texts: readonly string[], most: number): string {
  const more = texts.length - most;
  const shown = texts.slice(0, most).join(', ');
  return more <= 0 ? shown : `${shown} and ${more.toLocaleString('en')} more`;
}
