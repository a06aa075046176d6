import { z } from 'zod';
import type { Endpoint } from '../../framework/endpoint.ts';
import { LABEL_ATTRIBUTES } from '../../framework/keys.ts';
import { type DataSourceDefinition, defineDataSource } from '../../framework/plugin.ts';

/**
 * Gives a label of endpoints the name of an attribute, as text or as a number. As in the reference,
 * an endpoint without the label has an empty text or 0, and a text that is no number is 0.
 */
export const labelProducer: DataSourceDefinition = defineDataSource({
  type: 'label-producer',
  config: z.lazy(() =>
    z.strictObject({
      label: z.string().min(1),
      attributeKey: z.string().min(1),
      valueType: z
        .enum(['string', 'number', ''])
        .default('string')
        .transform((given) => given || 'string'),
    }),
  ),
  start({ label, attributeKey, valueType }, { pool }) {
    const write = (endpoint: Endpoint): void => {
      const text = endpoint.labels.get(label) ?? '';
      const value = valueType === 'number' ? Number(text) || 0 : text;
      const attributes = endpoint.attribute(LABEL_ATTRIBUTES);
      if (attributes.get(attributeKey) === value) return;
      pool.set(endpoint.id, LABEL_ATTRIBUTES, new Map(attributes).set(attributeKey, value));
    };
    return {
      onEndpointAdded: write,
      onEndpointChanged(endpoint, previous) {
        if (endpoint.labels !== previous.labels) write(endpoint);
      },
      stop: () => undefined,
    };
  },
});
