import { createRequire } from 'node:module';
import { ConfigError } from '../framework/error.ts';

/**
 * Packages that only some options need, with the version to install. Pointsman is installed without
 * them, because together they are larger than the rest.
 */
const VERSIONS = {
  '@kubernetes/client-node': '2',
  '@opentelemetry/api': '1',
  '@opentelemetry/otlp-exporter-base': '0.223',
  '@opentelemetry/otlp-grpc-exporter-base': '0.223',
  '@opentelemetry/resources': '2',
  echarts: '6',
} as const;

type OptionalPackage = keyof typeof VERSIONS;

/**
 * Throws ConfigError with the line that installs them, if one of these packages is not there.
 * `option` is what needs them. Loads nothing.
 */
export function needPackages(
  option: string,
  packages: readonly OptionalPackage[],
  resolve: (path: string) => unknown = createRequire(import.meta.url).resolve,
): void {
  const missing = packages.filter((name) => !isInstalled(name, resolve));
  if (missing.length === 0) return;
  const line = missing.map((name) => `${name}@${VERSIONS[name]}`).join(' ');
  const message =
    `needs ${missing.join(', ')}, which Pointsman is installed without: ` +
    `run npm install ${line} where Pointsman is installed, with -g if Pointsman was`;
  throw new ConfigError('installation', [{ path: option, message }]);
}

function isInstalled(name: string, resolve: (path: string) => unknown): boolean {
  try {
    resolve(`${name}/package.json`);
    return true;
  } catch (error) {
    // Other codes say that the package is there and does not export this file.
    return (error as NodeJS.ErrnoException).code !== 'MODULE_NOT_FOUND';
  }
}
