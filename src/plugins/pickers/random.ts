import { definePicker, type PickerDefinition } from '../../framework/plugin.ts';
import { pickerConfig } from './picker-config.ts';

/** Picks at random, all candidates equally likely, whatever their scores. */
export const randomPicker: PickerDefinition = definePicker({
  type: 'random-picker',
  config: pickerConfig,
  create: ({ maxNumOfEndpoints }) => ({
    pick(candidates, { random }) {
      const left = [...candidates];
      const count = Math.min(maxNumOfEndpoints, left.length);
      // The first steps of a Fisher-Yates shuffle.
      for (let index = 0; index < count; index++) {
        const other = index + Math.floor(random.next() * (left.length - index));
        [left[index], left[other]] = [left[other] as never, left[index] as never];
      }
      return left.slice(0, count);
    },
  }),
});
