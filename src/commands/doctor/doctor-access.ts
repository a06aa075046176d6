import { checkAccess } from '../../doctor/check-access.ts';
import type { Finding } from '../../doctor/finding.ts';
import { messageOf } from '../../framework/error.ts';
import { loadKubeconfig } from '../options/load-kubeconfig.ts';

/** Asks the API server what the picker's service account may do (SubjectAccessReview). */
export async function accessFindings(
  kubeconfig: string,
  { namespace, serviceAccount }: { readonly namespace: string; readonly serviceAccount: string },
): Promise<readonly Finding[]> {
  const config = await loadKubeconfig(kubeconfig);
  // Loaded only when needed: it is a large library.
  const { AuthorizationV1Api } = await import('@kubernetes/client-node');
  const api = config.makeApiClient(AuthorizationV1Api);
  const user = `system:serviceaccount:${namespace}:${serviceAccount}`;
  const groups = [
    'system:serviceaccounts',
    `system:serviceaccounts:${namespace}`,
    'system:authenticated',
  ];
  try {
    return await checkAccess({ namespace, serviceAccount }, async ({ group, resource, verb }) => {
      const resourceAttributes = { namespace, group, resource, verb };
      const { status } = await api.createSubjectAccessReview({
        body: { spec: { user, groups, resourceAttributes } },
      });
      return status?.allowed === true;
    });
  } catch (error) {
    const [why = ''] = messageOf(error).split('\n');
    return [
      {
        severity: 'warning',
        id: 'rights-unknown',
        where: `kubeconfig ${kubeconfig}`,
        what: `the API server does not say what ${user} may do (${why}).`,
        mend: 'Use a kubeconfig that may create subjectaccessreviews.authorization.k8s.io.',
      },
    ];
  }
}
