import type { V1SubjectAccessReview, V1TokenReview } from '@kubernetes/client-node';
import type { ApiAccess } from '../../endpoints/discovery/kubernetes/api/api-access.ts';
import { connectApi } from '../../endpoints/discovery/kubernetes/api/api-connection.ts';
import {
  apiMessageOf,
  apiStatusOf,
} from '../../endpoints/discovery/kubernetes/api/kubernetes-error.ts';
import type { Review } from './reviewed-tokens.ts';

/** Prometheus waits 10 s for a page. */
const ANSWER = { bytesMax: 1024 * 1024, timeoutMs: 5000 } as const;
const PATH = '/metrics';

/**
 * Asks the API server whose token it is (TokenReview), and whether that user may get `/metrics`
 * (SubjectAccessReview), as the reference does. Rejects where it gives no verdict, with a sentence
 * that says what to do.
 */
export function kubernetesReview(access: ApiAccess): (token: string) => Promise<Review> {
  return async (token) => {
    const { status } = await create<V1TokenReview>(access, TOKEN_REVIEW, { token });
    const { user } = status ?? {};
    if (status?.authenticated !== true || typeof user?.username !== 'string') {
      const sentence = 'the API server does not know this token';
      return { refusal: { status: 401, sentence } };
    }
    const { username, groups, extra, uid } = user;
    const asked = {
      user: username,
      nonResourceAttributes: { path: PATH, verb: 'get' },
      ...(groups && { groups }),
      ...(extra && { extra }),
      ...(uid !== undefined && { uid }),
    };
    const answer = await create<V1SubjectAccessReview>(access, ACCESS_REVIEW, asked);
    if (answer.status?.allowed === true) return { refusal: undefined };
    const sentence = `${username} may not get ${PATH}: bind it a ClusterRole with nonResourceURLs ["${PATH}"] and verbs ["get"]`;
    return { refusal: { status: 403, sentence } };
  };
}

interface ReviewKind {
  readonly group: string;
  readonly kind: string;
  readonly plural: string;
}

const TOKEN_REVIEW: ReviewKind = {
  group: 'authentication.k8s.io',
  kind: 'TokenReview',
  plural: 'tokenreviews',
};
const ACCESS_REVIEW: ReviewKind = {
  group: 'authorization.k8s.io',
  kind: 'SubjectAccessReview',
  plural: 'subjectaccessreviews',
};

/** Rejects with a sentence that says what to do. */
async function create<T extends object>(
  access: ApiAccess,
  { group, kind, plural }: ReviewKind,
  spec: object,
): Promise<Partial<T>> {
  try {
    const api = await connectApi(access);
    try {
      const body = { apiVersion: `${group}/v1`, kind, spec };
      const text = await api.text(
        { path: `/apis/${group}/v1/${plural}`, method: 'POST', body },
        ANSWER,
      );
      const answer: unknown = JSON.parse(text);
      return typeof answer === 'object' && answer !== null ? (answer as T) : {};
    } finally {
      api.close();
    }
  } catch (error) {
    throw explained(`${plural}.${group}`, error);
  }
}

function explained(resource: string, error: unknown): Error {
  if (apiStatusOf(error) === 403) {
    return new Error(
      `not allowed to create ${resource}: give the picker’s service account a ClusterRole with create on it, or start the picker without --metrics-endpoint-auth`,
    );
  }
  return new Error(`cannot create ${resource}: ${apiMessageOf(error)}`);
}
