import type { Endpoint } from '../../framework/endpoint.ts';
import type { BestEndpoints } from './best-endpoints.ts';
import type { ByteLog, RecordReader } from './bytes.ts';
import type { SlotList } from './numbers.ts';

const SLOTS_FIRST = 64;

/** The slots of some endpoints, filled in again and again. */
export class SlotBuffer implements SlotList {
  slots: Uint16Array = new Uint16Array(SLOTS_FIRST);
  count = 0;
  /** Above all slots that it has had. */
  slotsEnd = 0;

  /** The endpoints at these places of a list. */
  fillFrom(endpoints: readonly Endpoint[], { places, count }: BestEndpoints): this {
    if (count > this.slots.length) this.slots = new Uint16Array(2 * count);
    this.count = count;
    for (let index = 0; index < count; index++) {
      this.slots[index] = (endpoints[places[index] as number] as Endpoint).slot;
    }
    return this;
  }

  fill(endpoints: readonly Endpoint[]): this {
    if (endpoints.length > this.slots.length) this.slots = new Uint16Array(2 * endpoints.length);
    this.count = endpoints.length;
    for (let index = 0; index < endpoints.length; index++) {
      const { slot } = endpoints[index] as Endpoint;
      this.slots[index] = slot;
      if (slot >= this.slotsEnd) this.slotsEnd = slot + 1;
    }
    return this;
  }
}

/** A u16 for the count and one for each slot. There must be room for them in the log. */
export function writeSlots(log: ByteLog, { slots, count }: SlotList): void {
  log.u16(count);
  for (let index = 0; index < count; index++) log.u16(slots[index] as number);
}

export function readSlots(reader: RecordReader): Uint16Array<ArrayBuffer> {
  const slots = new Uint16Array(reader.u16());
  for (let at = 0; at < slots.length; at++) slots[at] = reader.u16();
  return slots;
}
