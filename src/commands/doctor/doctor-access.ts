import type { V1SubjectAccessReview } from '@kubernetes/client-node';
import { checkAccess } from '../../doctor/check-access.ts';
import type { Finding } from '../../doctor/finding.ts';
import {
  type ApiConnection,
  connectApi,
} from '../../endpoints/discovery/kubernetes/api/api-connection.ts';
import {
  apiMessageOf,
  apiStatusOf,
} from '../../endpoints/discovery/kubernetes/api/kubernetes-error.ts';
import { loadApiAccess } from '../api-access/load-api-access.ts';

const REVIEW = { apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview' } as const;
const REVIEWS = '/apis/authorization.k8s.io/v1/subjectaccessreviews';
const ANSWER = { bytesMax: 1024 * 1024, timeoutMs: 10_000 } as const;

/** Asks the API server what the picker's service account may do (SubjectAccessReview). */
export async function accessFindings(
  kubeconfig: string,
  { namespace, serviceAccount }: { readonly namespace: string; readonly serviceAccount: string },
): Promise<readonly Finding[]> {
  const access = await loadApiAccess(kubeconfig);
  const user = `system:serviceaccount:${namespace}:${serviceAccount}`;
  const groups = [
    'system:serviceaccounts',
    `system:serviceaccounts:${namespace}`,
    'system:authenticated',
  ];
  let api: ApiConnection | undefined;
  try {
    const connected = await connectApi(access);
    api = connected;
    return await checkAccess({ namespace, serviceAccount }, async ({ group, resource, verb }) => {
      const resourceAttributes = { namespace, group, resource, verb };
      const body = { ...REVIEW, spec: { user, groups, resourceAttributes } };
      const text = await connected.text({ path: REVIEWS, method: 'POST', body }, ANSWER);
      return (JSON.parse(text) as Partial<V1SubjectAccessReview>).status?.allowed === true;
    });
  } catch (error) {
    const why = apiMessageOf(error);
    return [
      {
        severity: 'warning',
        id: 'rights-unknown',
        where: `kubeconfig ${kubeconfig}`,
        what: `the API server does not say what ${user} may do (${why}).`,
        mend: mendOf(apiStatusOf(error)),
      },
    ];
  } finally {
    api?.close();
  }
}

/** By the status that the API server answered; undefined where it did not answer. */
function mendOf(status: number | undefined): string {
  if (status === undefined)
    return 'Let this machine reach the API server that the kubeconfig names: see whether it runs, its address, and a VPN or proxy.';
  if (status === 401)
    return 'Use a kubeconfig whose token or certificate is still valid, as `kubectl auth whoami` says.';
  return 'Use a kubeconfig that may create subjectaccessreviews.authorization.k8s.io.';
}
