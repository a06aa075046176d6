import { z } from 'zod';
import { messageOf } from '../../framework/error.ts';
import type { Usage } from '../../framework/observer.ts';
import { type DataSourceDefinition, defineReporter } from '../../framework/plugin.ts';
import { compileCel } from '../../runtime/modules/compile-cel.ts';

const DEFAULT_NAMESPACE = 'envoy.lb';
const VARIABLE = 'usage';

const expression = z.lazy(() =>
  z
    .string()
    .trim()
    .min(1)
    .superRefine((text, context) => {
      try {
        compileCel(text, [VARIABLE]);
      } catch (error) {
        const [why = ''] = messageOf(error).split('\n');
        context.addIssue({ code: 'custom', message: `is no expression in CEL: ${why}` });
      }
    }),
);

const attribute = z.lazy(() =>
  z.strictObject({
    key: z.strictObject({
      namespace: z
        .string()
        .optional()
        .transform((namespace) => namespace || DEFAULT_NAMESPACE),
      name: z.string().min(1),
    }),
    expression,
    condition: z.union([z.literal(''), expression]).optional(),
  }),
);

/**
 * Reports a number for each answer to the proxy, as dynamic metadata: the value of an expression in
 * CEL over `usage`, without its fraction. Reports nothing for 0, or where the condition is not
 * true.
 */
export const requestAttributeReporter: DataSourceDefinition = defineReporter({
  type: 'request-attribute-reporter',
  config: z.strictObject({ attributes: z.array(attribute).length(1) }),
  start({ attributes }) {
    const reported = attributes.map(({ key, expression, condition = '' }) => ({
      ...key,
      value: compileCel(expression, [VARIABLE]),
      condition: condition === '' ? undefined : compileCel(condition, [VARIABLE]),
    }));
    return {
      responseMetadata(usage) {
        const variables = { [VARIABLE]: asMap(usage) };
        return reported.flatMap(({ namespace, name, value, condition }) => {
          if (condition !== undefined && condition.run(variables) !== true) return [];
          const result = wholeNumber(value.run(variables));
          return result === 0 ? [] : [{ namespace, name, value: result }];
        });
      },
      stop: () => undefined,
    };
  },
});

/**
 * The counts as model servers name them, and cached tokens also as releases of the reference name
 * them. All are doubles, as there.
 */
function asMap({
  promptTokens,
  completionTokens,
  cachedTokens,
}: Usage): Readonly<Record<string, unknown>> {
  const details = { cached_tokens: cachedTokens };
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
    ...(cachedTokens !== undefined && {
      prompt_tokens_details: details,
      prompt_token_details: details,
    }),
  };
}

function wholeNumber(result: unknown): number {
  const value = typeof result === 'bigint' ? Number(result) : result;
  if (typeof value === 'number' && Number.isFinite(value)) return Math.trunc(value);
  throw new TypeError(`the expression gave ${String(result)}, which is no number`);
}
