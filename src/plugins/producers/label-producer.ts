import { z } from 'zod';
import type { Endpoint } from '../../framework/endpoint.ts';
import { LABEL_ATTRIBUTES } from '../../framework/endpoint-attributes.ts';
import { type DataSourceDefinition, defineDataSource } from '../../framework/plugin.ts';

const VALUE_TYPE = {
  valueType: z
    .enum(['string', 'number', ''])
    .default('string')
    .transform((given) => given || 'string'),
};
const LABEL = { label: z.string().min(1), attributeKey: z.string().min(1) };

/**
 * Gives labels of endpoints the names of attributes, as text or as numbers. As in the reference, an
 * endpoint without the label has an empty text or 0, and a text that is no number is 0.
 */
export const labelProducer: DataSourceDefinition = defineDataSource({
  type: 'label-producer',
  config: z.lazy(() =>
    z
      .strictObject({
        label: LABEL.label.optional(),
        attributeKey: LABEL.attributeKey.optional(),
        ...VALUE_TYPE,
        /** Several labels, as in releases after 0.10. */
        labels: z
          .array(z.strictObject({ ...LABEL, ...VALUE_TYPE }))
          .min(1)
          .optional(),
      })
      .transform(({ label, attributeKey, valueType, labels = [] }, context) => {
        const named = [...labels];
        if (label !== undefined && attributeKey !== undefined) {
          named.unshift({ label, attributeKey, valueType });
        } else if (label !== undefined || attributeKey !== undefined || labels.length === 0) {
          context.addIssue({ code: 'custom', message: 'needs label and attributeKey, or labels' });
        }
        if (new Set(named.map((each) => each.attributeKey)).size < named.length) {
          context.addIssue({ code: 'custom', message: 'must give each attributeKey once' });
        }
        return { labels: named };
      }),
  ),
  start({ labels }, { pool }) {
    const write = (endpoint: Endpoint): void => {
      const known = endpoint.attribute(LABEL_ATTRIBUTES);
      const attributes = new Map(known);
      for (const { label, attributeKey, valueType } of labels) {
        const text = endpoint.labels.get(label) ?? '';
        attributes.set(attributeKey, valueType === 'number' ? Number(text) || 0 : text);
      }
      if (labels.every(({ attributeKey: key }) => known.get(key) === attributes.get(key))) return;
      pool.set(endpoint.id, LABEL_ATTRIBUTES, attributes);
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
