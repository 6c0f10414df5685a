import type { OutputItem } from '@toolscript/core/stream';
import type { operations } from './openapi.js';

/** The shapes of requests and answers, as the server's OpenAPI document describes them. */

type Operation = keyof operations;

type ContentOf<Answer> = Answer extends { content: { 'application/json': infer Body } } ? Body : never;

/** The body of a successful answer; errors are problem documents. */
type Answer<Name extends Operation> = ContentOf<
  operations[Name]['responses'][Extract<keyof operations[Name]['responses'], number>]
>;

type Body<Name extends Operation> = operations[Name] extends { requestBody: infer Request }
  ? ContentOf<Request>
  : never;

type Query<Name extends Operation> = NonNullable<operations[Name]['parameters']['query']>;

/** `Type` with items that have the types of the protocol. */
type WithItems<Type, Member extends keyof Type> = Omit<Type, Member> & { [Key in Member]: OutputItem[] };

export type SubmitBody = Body<'submit'>;
export type SubmittedRun = Answer<'submit'>;
export type Run = Answer<'getRun'>;
export type ThreadPage = Answer<'listThreads'>;
export type ThreadSummary = ThreadPage['data'][number];
export type Thread = WithItems<Answer<'getThread'>, 'items'>;
export type ThreadQuery = Query<'listThreads'>;
export type FilePage = Answer<'listFiles'>;
export type ThreadFile = FilePage['data'][number];
export type FileQuery = Query<'listFiles'>;
export type SavedPage = Answer<'listSaved'>;
/** A saved prompt or script, without its text. */
export type Saved = SavedPage['data'][number];
export type SavedText = Answer<'getSaved'>;
export type SavedQuery = Query<'listSaved'>;
export type SavedOwner = Query<'getSaved'>;
/** `snippet`: a saved script. */
export type SavedKind = operations['getSaved']['parameters']['path']['kind'];
export type ApprovalPage = Answer<'listApprovals'>;
export type Approval = Answer<'getApproval'>;
export type ApprovalQuery = Query<'listApprovals'>;
export type Decision = Body<'decideApproval'>;
export type AuditPage = Answer<'listAudit'>;
export type AuditEntry = AuditPage['data'][number];
export type AuditQuery = Query<'listAudit'>;
export type ApiKeyPage = Answer<'listKeys'>;
export type ApiKey = ApiKeyPage['data'][number];
export type ApiKeyDraft = Body<'addKey'>;
/** The new key with its token, which no other answer contains. */
export type NewApiKey = Answer<'addKey'>;
export type RulePage = Answer<'listRules'>;
export type Rule = RulePage['data'][number];
/** A provider of models, and the source of its key. */
export type Provider = Answer<'listProviders'>['data'][number];
export type AgentPage = Answer<'listAgents'>;
export type Agent = AgentPage['data'][number];
export type ToolPage = Answer<'listTools'>;
export type Tool = ToolPage['data'][number];
/** The outcome of a script, now or at its end. */
export type ScriptOutcome = Answer<'getScript'>;
export type ScriptQuery = Query<'getScript'>;
/** The effects of an undo, planned or done. */
export type UndoReport = Answer<'undoScript'>;
export type UndoDirection = UndoReport['direction'];
