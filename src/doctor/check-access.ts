import type { Finding } from './finding.ts';

/** One right in Kubernetes. */
export interface AccessNeed {
  readonly group: string;
  readonly resource: string;
  readonly verb: 'list' | 'watch';
}

/**
 * What a picker that follows an InferencePool needs; deploy/kubernetes/base/role.yaml grants it.
 */
const NEEDS: readonly (readonly [group: string, resource: string, why: string])[] = [
  ['', 'pods', 'it finds no endpoints'],
  ['inference.networking.k8s.io', 'inferencepools', 'it does not know its pool'],
  ['llm-d.ai', 'inferenceobjectives', 'priorities of objectives have no effect'],
  ['llm-d.ai', 'inferencemodelrewrites', 'model rewrites have no effect'],
];

/** What the picker's service account may not do. `may` asks the API server. */
export async function checkAccess(
  who: { readonly namespace: string; readonly serviceAccount: string },
  may: (need: AccessNeed) => Promise<boolean>,
): Promise<readonly Finding[]> {
  const asked = NEEDS.map(async ([group, resource, why]): Promise<readonly Finding[]> => {
    const verbs = await Promise.all(
      (['list', 'watch'] as const).map(async (verb) =>
        (await may({ group, resource, verb })) ? undefined : verb,
      ),
    );
    const missing = verbs.filter((verb) => verb !== undefined);
    if (missing.length === 0) return [];
    return [
      {
        severity: group === 'llm-d.ai' ? 'warning' : 'error',
        id: 'missing-right',
        where: `service account ${who.serviceAccount} in ${who.namespace}`,
        what: `it may not ${missing.join(' or ')} ${resource}: ${why}.`,
        lines: [
          'rules:   # of the Role that is bound to it',
          `  - { apiGroups: ["${group}"], resources: [${resource}], verbs: [list, watch] }`,
        ],
      },
    ];
  });
  return (await Promise.all(asked)).flat();
}
