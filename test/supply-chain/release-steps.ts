import { join } from 'node:path';
import { parse } from 'yaml';

/** What a release is made from: texts of the tagged commit. */
export interface TaggedTexts {
  readonly packageJson: string;
  readonly chart: string;
  readonly changelog: string;
}

/** Programs that build container images; the first one that is there is taken. */
export const IMAGE_TOOLS = ['docker', 'podman', 'buildah'] as const;
export type ImageTool = (typeof IMAGE_TOOLS)[number];

export interface ReleaseParts {
  readonly version: string;
  /** The commit of the tag. */
  readonly revision: string;
  /** A folder with the files of the tag and nothing else. */
  readonly checkout: string;
  /** The folder of what is made. */
  readonly to: string;
  readonly imageTool: ImageTool;
}

export interface Step {
  readonly makes: string;
  readonly command: readonly [string, ...string[]];
}

/** The version of a tag such as `v1.2.3` or `v1.2.3-rc.1`; undefined for another name. */
export function versionOf(tag: string): string | undefined {
  return /^v(\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?)$/.exec(tag)?.[1];
}

/** What in the tagged commit does not fit the tag, a sentence each; empty where all fits. */
export function releaseFaults(version: string, texts: TaggedTexts): readonly string[] {
  const faults: string[] = [];
  const compare = (what: string, found: unknown): void => {
    if (found !== version) faults.push(`${what} is ${String(found)}: make it ${version}`);
  };
  const { version: packaged } = JSON.parse(texts.packageJson) as { readonly version: string };
  const chart = parse(texts.chart) as { readonly version: string; readonly appVersion: string };
  compare('version in package.json', packaged);
  compare('version in deploy/helm/pointsman/Chart.yaml', chart.version);
  compare('appVersion in deploy/helm/pointsman/Chart.yaml', chart.appVersion);
  const heading = `## ${version}`;
  if (
    !texts.changelog.split('\n').some((line) => line === heading || line.startsWith(`${heading} `))
  )
    faults.push(`CHANGELOG.md has no heading "${heading}": name what is under "## Unreleased" so`);
  return faults;
}

/** In which folders what is made goes: npm package and chart have the same file name. */
export const FOLDERS = ['npm', 'chart', 'image'] as const;

/** What makes npm package, list of packages, chart and image, in this order. */
export function releaseSteps(parts: ReleaseParts): readonly Step[] {
  const { checkout, to, version } = parts;
  const npm = (...args: readonly string[]): Step['command'] => [
    'npm',
    '--prefix',
    checkout,
    ...args,
  ];
  return [
    { makes: 'what is packed', command: npm('ci', '--no-audit', '--no-fund') },
    // It builds anew and lists the packages in dist/sbom.cdx.json.
    {
      makes: 'npm package',
      command: ['npm', 'pack', checkout, '--pack-destination', join(to, 'npm')],
    },
    {
      makes: 'list of packages',
      command: [
        'cp',
        join(checkout, 'dist', 'sbom.cdx.json'),
        join(to, 'npm', `pointsman-${version}.cdx.json`),
      ],
    },
    {
      makes: 'chart',
      command: [
        'helm',
        'package',
        join(checkout, 'deploy/helm/pointsman'),
        '--destination',
        join(to, 'chart'),
      ],
    },
    ...imageSteps(parts),
  ];
}

function imageSteps({ version, revision, checkout, to, imageTool }: ReleaseParts): readonly Step[] {
  const image = `pointsman:${version}`;
  const file = join(to, 'image', `pointsman-${version}.oci.tar`);
  const build = imageTool === 'buildah' ? ['build', '--isolation', 'chroot'] : ['build'];
  const labels = [`VERSION=${version}`, `REVISION=${revision}`];
  const save: Readonly<Record<ImageTool, readonly string[]>> = {
    // Since version 25 the archive has the layout of OCI.
    docker: ['save', '--output', file, image],
    podman: ['save', '--format', 'oci-archive', '--output', file, image],
    buildah: ['push', image, `oci-archive:${file}:${image}`],
  };
  return [
    {
      makes: 'image',
      command: [
        imageTool,
        ...build,
        '--file',
        join(checkout, 'deploy/Dockerfile'),
        '--tag',
        image,
        ...labels.flatMap((label) => ['--build-arg', label]),
        checkout,
      ],
    },
    { makes: 'file of the image', command: [imageTool, ...save[imageTool]] },
  ];
}
