/** The entry of one item in a list. The item leaves the list through it in O(1). */
export class Link<Item> {
  readonly item: Item;
  list: LinkedList<Item> | undefined;
  previous: Link<Item> | undefined = undefined;
  next: Link<Item> | undefined = undefined;

  constructor(item: Item, list: LinkedList<Item>) {
    this.item = item;
    this.list = list;
  }

  /** Keeps `next`, so that a loop over the list can go on from a link that has just left. */
  leave(): void {
    const { list, previous, next } = this;
    if (list === undefined) return;
    if (previous === undefined) list.first = next;
    else previous.next = next;
    if (next === undefined) list.last = previous;
    else next.previous = previous;
    this.list = undefined;
    list.size -= 1;
  }
}

/** Items in the order of insertion; each can leave from any position. */
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

  *[Symbol.iterator](): Generator<Item, void> {
    for (let link = this.first; link !== undefined; link = link.next) yield link.item;
  }
}
