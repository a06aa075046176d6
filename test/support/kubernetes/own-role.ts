import {
  AuthorizationV1Api,
  CoreV1Api,
  KubeConfig,
  RbacAuthorizationV1Api,
  type V1PolicyRule,
} from '@kubernetes/client-node';
import { eventually } from '../../../bench/support/stack.ts';
import type { Manifest } from './manifest-tools.ts';

const NAMESPACE = 'default';

/** One verb on one resource. */
export interface Permission {
  readonly role: Role;
  readonly group: string;
  readonly resource: string;
  readonly verb: string;
}

export interface Role {
  readonly kind: 'Role' | 'ClusterRole';
  readonly name: string;
  readonly rules: readonly V1PolicyRule[];
}

export function rolesOf(manifests: readonly Manifest[]): readonly Role[] {
  return manifests.flatMap(({ kind, metadata, ...rest }) =>
    kind === 'Role' || kind === 'ClusterRole'
      ? [{ kind, name: metadata.name, rules: rest['rules'] as readonly V1PolicyRule[] }]
      : [],
  );
}

export function permissionsOf(roles: readonly Role[]): readonly Permission[] {
  return roles.flatMap((role) =>
    role.rules.flatMap(({ apiGroups = [], resources = [], verbs }) =>
      apiGroups.flatMap((group) =>
        resources.flatMap((resource) => verbs.map((verb) => ({ role, group, resource, verb }))),
      ),
    ),
  );
}

/** Credentials of a service account, as its pods have them. */
export async function configOfAccount(admin: KubeConfig, account: string): Promise<KubeConfig> {
  const { status } = await admin.makeApiClient(CoreV1Api).createNamespacedServiceAccountToken({
    namespace: NAMESPACE,
    name: account,
    body: { spec: { audiences: [], expirationSeconds: 3600 } },
  });
  const config = new KubeConfig();
  config.loadFromOptions({
    clusters: admin.getClusters(),
    users: [{ name: account, token: status?.token }],
    contexts: [{ name: 'account', cluster: admin.getClusters()[0]?.name ?? '', user: account }],
    currentContext: 'account',
  });
  return config;
}

/**
 * Removes a verb on a resource from its role, or adds it again; resolves when the API server
 * applies the change.
 */
export async function setAllowed(
  admin: KubeConfig,
  account: string,
  permission: Permission,
  allowed: boolean,
): Promise<void> {
  const { role, group, resource, verb } = permission;
  const all = permissionsOf([role]);
  const kept = allowed ? all : all.filter((each) => !isSame(each, permission));
  const rules = kept.map((each) => ({
    apiGroups: [each.group],
    resources: [each.resource],
    verbs: [each.verb],
  }));
  const rbac = admin.makeApiClient(RbacAuthorizationV1Api);
  const { name } = role;
  const body = { metadata: { name }, rules };
  if (role.kind === 'ClusterRole') await rbac.replaceClusterRole({ name, body });
  else await rbac.replaceNamespacedRole({ name, namespace: NAMESPACE, body });
  const api = admin.makeApiClient(AuthorizationV1Api);
  const resourceAttributes = { namespace: NAMESPACE, group, resource, verb };
  const user = `system:serviceaccount:${NAMESPACE}:${account}`;
  await eventually(
    async () => {
      const asked = { body: { spec: { user, resourceAttributes } } };
      return (await api.createSubjectAccessReview(asked)).status?.allowed;
    },
    (answer) => answer === allowed,
  );
}

function isSame(a: Permission, b: Permission): boolean {
  return a.group === b.group && a.resource === b.resource && a.verb === b.verb;
}
