import {
  AuthenticationV1Api,
  AuthorizationV1Api,
  type Configuration,
  createConfiguration,
  type KubeConfig,
  ServerConfiguration,
} from '@kubernetes/client-node';
import { apiMessageOf, apiStatusOf } from '../../endpoints/discovery/kubernetes/api-error.ts';
import type { Review } from './reviewed-tokens.ts';

/** Prometheus waits 10 s for a page. */
const TIMEOUT_MS = 5000;
const PATH = '/metrics';

/**
 * Asks the API server whose token it is (TokenReview), and whether that user may get `/metrics`
 * (SubjectAccessReview), as the reference does. Rejects where it gives no verdict, with a sentence
 * that says what to do.
 */
export function kubernetesReview(config: KubeConfig): (token: string) => Promise<Review> {
  const limits = limited(config);
  const authentication = new AuthenticationV1Api(limits);
  const authorization = new AuthorizationV1Api(limits);
  return async (token) => {
    const { status } = await authentication
      .createTokenReview({ body: { spec: { token } } })
      .catch((error: unknown) => {
        throw explained('tokenreviews.authentication.k8s.io', error);
      });
    const { user } = status ?? {};
    if (status?.authenticated !== true || user?.username === undefined) {
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
    const access = await authorization
      .createSubjectAccessReview({ body: { spec: asked } })
      .catch((error: unknown) => {
        throw explained('subjectaccessreviews.authorization.k8s.io', error);
      });
    if (access.status?.allowed === true) return { refusal: undefined };
    const sentence = `${username} may not get ${PATH}: bind it a ClusterRole with nonResourceURLs ["${PATH}"] and verbs ["get"]`;
    return { refusal: { status: 403, sentence } };
  };
}

/** As `makeApiClient` does it, with a limit of time: the library itself waits without one. */
function limited(config: KubeConfig): Configuration {
  const { server = '' } = config.getCurrentCluster() ?? {};
  return createConfiguration({
    baseServer: new ServerConfiguration(server, {}),
    authMethods: { default: config },
    promiseMiddleware: [
      {
        pre: (request) => {
          request.setSignal(AbortSignal.timeout(TIMEOUT_MS));
          return Promise.resolve(request);
        },
        post: (response) => Promise.resolve(response),
      },
    ],
  });
}

function explained(resource: string, error: unknown): Error {
  if (apiStatusOf(error) === 403) {
    return new Error(
      `not allowed to create ${resource}: give the picker’s service account a ClusterRole with create on it, or start the picker without --metrics-endpoint-auth`,
    );
  }
  return new Error(`cannot create ${resource}: ${apiMessageOf(error)}`);
}
