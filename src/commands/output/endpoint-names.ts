/** Names without the namespace, and without the rank, where all endpoints have the same. */
export function namesOf(ids: readonly string[]): (id: string) => string {
  const [first = ''] = ids;
  const namespace = first.slice(0, first.indexOf('/') + 1);
  const start = ids.every((id) => id.startsWith(namespace)) ? namespace : '';
  const end = ids.every((id) => id.endsWith(ONLY_RANK)) ? ONLY_RANK : '';
  return (id) => {
    const name = id.startsWith(start) ? id.slice(start.length) : id;
    return name.endsWith(end) ? name.slice(0, name.length - end.length) : name;
  };
}

/** What the names of all endpoints end with in a pool with one port. */
const ONLY_RANK = '-rank-0';
