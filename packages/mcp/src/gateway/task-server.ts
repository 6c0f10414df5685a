import {
  McpServer,
  Server,
  type Implementation,
  type JSONRPCRequest,
  type Result,
  type ServerContext,
  type ServerOptions,
} from '@modelcontextprotocol/server';

type CallTool = (request: JSONRPCRequest, ctx: ServerContext) => Promise<Result>;

/** Answers a call of a tool. `callTool` calls the tool, and checks its result. */
type AnswerCall = (request: JSONRPCRequest, ctx: ServerContext, callTool: CallTool) => Promise<Result>;

/**
 * A server that can answer a call with a task. `McpServer` gives a tool only its arguments, and accepts only the result
 * of a tool.
 */
export class TaskServer extends McpServer {
  override readonly server: CallAnsweringServer;

  constructor(info: Implementation, options: ServerOptions) {
    super(info, options);
    this.server = new CallAnsweringServer(info, options);
  }
}

class CallAnsweringServer extends Server {
  /** Default: the result of the tool. */
  answerCall: AnswerCall = (request, ctx, callTool) => callTool(request, ctx);

  protected override _wrapHandler(method: string, handler: CallTool): CallTool {
    const checked = super._wrapHandler(method, handler);
    return method === 'tools/call' ? (request, ctx) => this.answerCall(request, ctx, checked) : checked;
  }
}
