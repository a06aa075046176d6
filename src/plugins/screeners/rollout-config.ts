import { z } from 'zod';
import { labelQuery } from '../parameters/label-query.ts';
import { textOr } from '../parameters/text-or.ts';

const SET_LABELS = 'disaggregatedset.x-k8s.io';
const REVISION_HEADER = 'x-llm-d-disagg-revision';

/** A header of request and answer that carries the value of a label. */
export interface HeaderSelector {
  /** The selector's name in metrics. */
  readonly name: string;
  /** Lower-case. */
  readonly headerName: string;
  readonly labelKey: string;
  /** `prefer` only puts the label's value on the answer. */
  readonly mode: 'strict' | 'prefer';
}

export interface RolloutConfig {
  readonly scope: { readonly labelSelector: string };
  readonly headerSelectors?: readonly HeaderSelector[] | undefined;
  readonly revisionGating: {
    readonly mode: 'sum' | 'max-role' | 'disabled';
    readonly requireRoles?: { readonly values: readonly string[] } | undefined;
    readonly requiredRoles?: readonly string[] | undefined;
    readonly revisionLabelKey: string;
    readonly roleLabelKey: string;
    readonly revisionHeaderName: string;
    readonly disableCoordination: boolean;
  };
}

const text = z.string().min(1);
const roles = z.array(text).superRefine((names, context) => {
  names.forEach((name, index) => {
    if (names.indexOf(name) === index) return;
    context.addIssue({ code: 'custom', path: [index], message: `repeats ${name}; leave it out` });
  });
});

/** The roles in the newer form of the parameters, or in the older one. */
export function requiredRolesOf({
  requiredRoles,
  requireRoles,
}: Pick<RolloutConfig['revisionGating'], 'requiredRoles' | 'requireRoles'>): readonly string[] {
  return requiredRoles ?? requireRoles?.values ?? [];
}

/** Without selectors, the revision has one header of its own, as in the newer parameters. */
export function selectorsOf({
  headerSelectors,
  revisionGating,
}: RolloutConfig): readonly HeaderSelector[] {
  const { revisionHeaderName: headerName, revisionLabelKey: labelKey } = revisionGating;
  return headerSelectors ?? [{ name: 'revision', headerName, labelKey, mode: 'strict' }];
}

export const rolloutConfig: z.ZodType<RolloutConfig> = z.lazy(() =>
  z.strictObject({
    scope: z.strictObject({
      labelSelector: labelQuery.refine((query) => query.trim() !== '', 'must not be empty'),
    }),
    headerSelectors: z
      .array(
        z.strictObject({
          name: text,
          headerName: text.toLowerCase(),
          labelKey: text,
          mode: z.enum(['strict', 'prefer']),
        }),
      )
      .optional(),
    revisionGating: z
      .strictObject({
        mode: z.enum(['sum', 'max-role', 'disabled']),
        requireRoles: z.strictObject({ values: roles }).optional(),
        requiredRoles: roles.optional(),
        revisionLabelKey: textOr(`${SET_LABELS}/revision`),
        roleLabelKey: textOr(`${SET_LABELS}/role`),
        revisionHeaderName: textOr(REVISION_HEADER).transform((name) => name.toLowerCase()),
        /** Accepted without effect: replicas of the picker do not agree on revisions. */
        disableCoordination: z.boolean().default(false),
      })
      .refine((gating) => gating.mode === 'disabled' || requiredRolesOf(gating).length > 0, {
        path: ['requiredRoles'],
        message: 'name the roles that a revision needs, or write mode: disabled',
      }),
  }),
);
