import { execFile } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, realpathSync, writeFileSync } from 'node:fs';
import { devNull } from 'node:os';
import { join } from 'node:path';
import { innermostRoot, type Workspace } from '../../files/workspace.js';
import { childEnvironment } from '../environment.js';
import { findProgram } from '../program.js';

/** The reason why the changes of a command are not recorded. */
export class CheckpointGap extends Error {}

/** Time limit of one git command, in ms. */
const TIMEOUT_MS = 60_000;
/** Maximum output of one git command: lists of paths, and groups of file contents. */
const MAX_OUTPUT_BYTES = 128 * 1024 * 1024;

/** Content is stored byte for byte: no line ends are converted, and no filter runs. */
const RAW_ATTRIBUTES = '* -text -eol -filter -ident -working-tree-encoding\n';

/**
 * A git directory of Toolscript beside the user's repository. It has its own index, objects and configuration, and reads
 * the objects of the user's repository. So no git command changes anything of the user, and none of them reads a
 * configuration that names programs.
 */
export class PrivateRepository {
  readonly #program: string;
  readonly #environment: Record<string, string>;
  readonly #user: Record<string, string>;
  /** The folder of the workspace, where paths start. */
  readonly root: string;

  private constructor(program: string, own: Record<string, string>, user: Record<string, string>, root: string) {
    this.#program = program;
    this.#environment = { ...user, ...own };
    this.#user = user;
    this.root = root;
  }

  /** Makes the directory at `folder`. Throws a CheckpointGap if the workspace is not in a git repository. */
  static async create(workspace: Workspace, folder: string): Promise<PrivateRepository> {
    const root = workspace.roots[0]!.realPath;
    const base = { ...childEnvironment(process.env, {}), LC_ALL: 'C' };
    const program = findProgram('git', process.env['PATH'] ?? '', root);
    if (program === undefined || innermostRoot(workspace, realpathSync(program)) !== undefined)
      throw new CheckpointGap('there is no git program on PATH');
    const user = new PrivateRepository(program, {}, base, root);
    const paths = ['--git-path', 'index', '--git-path', 'objects', '--git-path', 'info/exclude'];
    const found = await user
      .git(['rev-parse', '--path-format=absolute', '--show-toplevel', ...paths, '--show-object-format'])
      .catch(() => undefined);
    if (found === undefined) throw new CheckpointGap('the workspace is not in a git repository');
    const [top, index, objects, exclude, format] = found.toString().split('\n') as [
      string,
      string,
      string,
      string,
      string,
    ];
    makeDirectory(folder, { index, objects, exclude, format });
    const own = { GIT_DIR: folder, GIT_WORK_TREE: top, GIT_CONFIG_NOSYSTEM: '1', GIT_CONFIG_GLOBAL: devNull };
    return new PrivateRepository(program, own, base, root);
  }

  /** Runs git in the folder of the workspace. Returns stdout. Rejects if the status is not 0. */
  git(args: readonly string[], input = '', env = this.#environment): Promise<Buffer> {
    const options = { cwd: this.root, env, timeout: TIMEOUT_MS, maxBuffer: MAX_OUTPUT_BYTES };
    return new Promise((resolve, reject) => {
      const child = execFile(this.#program, args, { ...options, encoding: 'buffer' }, (error, stdout) => {
        if (error === null) resolve(stdout);
        else reject(error);
      });
      // The status of git reports its failure.
      child.stdin?.on('error', () => {});
      child.stdin?.end(input);
    });
  }

  /** The members of an output with NUL after each. */
  async list(args: readonly string[], input?: string): Promise<string[]> {
    return (await this.git(args, input)).toString().split('\0').slice(0, -1);
  }

  /** Like `list`, in the user's repository. Only for commands that read. */
  async listOfUser(args: readonly string[], input: string): Promise<string[]> {
    // defence: checkpoint-runs-no-monitor
    const output = await this.git(['-c', 'core.fsmonitor=false', ...args], input, this.#user);
    return output.toString().split('\0').slice(0, -1);
  }

  /** The contents of blobs, in the given order. */
  async blobs(ids: readonly string[]): Promise<Buffer[]> {
    const output = await this.git(['cat-file', '--batch'], ids.map((id) => `${id}\n`).join(''));
    let at = 0;
    return ids.map(() => {
      const start = output.indexOf('\n', at) + 1;
      const size = Number(output.subarray(at, start).toString().split(' ')[2]);
      at = start + size + 1;
      return Buffer.from(output.subarray(start, start + size));
    });
  }
}

interface UserPaths {
  readonly index: string;
  readonly objects: string;
  readonly exclude: string;
  readonly format: string;
}

function makeDirectory(folder: string, { index, objects, exclude, format }: UserPaths): void {
  for (const part of ['objects/info', 'refs', 'info']) mkdirSync(join(folder, part), { recursive: true, mode: 0o700 });
  const core = '[core]\n\trepositoryformatversion = 1\n\tbare = false\n\tfsync = none\n\tlooseCompression = 1\n';
  writeFileSync(join(folder, 'config'), `${core}[extensions]\n\tobjectformat = ${format}\n`);
  writeFileSync(join(folder, 'HEAD'), 'ref: refs/heads/none\n');
  writeFileSync(join(folder, 'objects/info/alternates'), `${objects}\n`);
  writeFileSync(join(folder, 'info/attributes'), RAW_ATTRIBUTES);
  if (existsSync(exclude)) copyFileSync(exclude, join(folder, 'info/exclude'));
  if (existsSync(index)) copyFileSync(index, join(folder, 'index'));
}
