/** One item's place in a list, by which it can leave in O(1). */
export class Link<Item> {
  readonly item: Item;
  list: LinkedList<Item> | undefined;
  previous: Link<Item> | undefined = undefined;
  next: Link<Item> | undefined = undefined;

  constructor(item: Item, list: LinkedList<Item>) {
    this.item = item;
    this.list = list;
  }

  /** Ignores a second call. */
  leave(): void {
    this.list?.unlink(this);
  }
}

/** Items in the order they came, each of which may leave from anywhere. */
export class LinkedList<Item> {
  first: Link<Item> | undefined = undefined;
  last: Link<Item> | undefined = undefined;
  size = 0;

  append(item: Item): Link<Item> {
    const link = new Link(item, this);
    link.previous = this.last;
    if (this.last === undefined) this.first = link;
    else this.last.next = link;
    this.last = link;
    this.size += 1;
    return link;
  }

  /** For `Link.leave`. A link keeps its `next`, so that a walk may go on from one that has just left. */
  unlink(link: Link<Item>): void {
    if (link.previous === undefined) this.first = link.next;
    else link.previous.next = link.next;
    if (link.next === undefined) this.last = link.previous;
    else link.next.previous = link.previous;
    link.list = undefined;
    this.size -= 1;
  }

  *[Symbol.iterator](): Generator<Item, void> {
    for (let link = this.first; link !== undefined; link = link.next) yield link.item;
  }
}
