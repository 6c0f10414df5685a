// The guest's side of the bridge. Evaluated once when the image is built; every script starts from a bit
// by bit copy of the memory it leaves behind.
//
// Model: a call to a tool gets the next index, is written to the outbox, and its promise waits in `promises`.
// The host reads the outbox when the guest has nothing left to do, and later settles calls by index. The
// script's end is one more entry of the outbox. Nothing in here can be reached by a script: every function
// it uses was captured before the first script, and the tables are closures. All the same the host believes
// nothing that stands in the outbox: it counts the calls itself, finds their places itself, and ends the
// script where an entry breaks a rule (`quickjs/outbox.ts`).
//
// Whatever reads a script's value may run the script's own code (a getter, toJSON, a proxy's trap), which may use the
// bridge itself. So a budget is looked at once more after the value was read.
//
// Any line may fail because the heap or the stack is full. Nothing may be left half done then that a later
// line relies on: what a failure could tear apart is committed last, without allocating.
// oxlint-disable-next-line no-unused-expressions -- the build calls what this evaluates to
(function (tellHost) {
  'use strict';

  const { parse, stringify } = JSON;
  const {
    apply,
    ownKeys,
    getPrototypeOf,
    setPrototypeOf,
    preventExtensions,
    getOwnPropertyDescriptor,
    defineProperty,
  } = Reflect;
  const { freeze, create, keys } = Object;
  const ObjectPrototype = Object.prototype;
  const ErrorPrototype = Error.prototype;
  const engineStack = getOwnPropertyDescriptor(ErrorPrototype, 'stack').get;
  const engineCapture = Error.captureStackTrace;
  const PromiseConstructor = Promise;
  const promiseThen = Promise.prototype.then;
  const ErrorConstructor = Error;
  const { isArray } = Array;
  const toText = String;
  const { isFinite: isFiniteNumber } = Number;
  const { min, max } = Math;
  const { toStringTag } = Symbol;
  const dateNow = Date.now;
  const dateToIso = Date.prototype.toISOString;
  const dateGetTime = Date.prototype.getTime;
  const ProxyConstructor = Proxy;
  const method = (prototype, name) => {
    const found = prototype[name];
    return (receiver, ...rest) => apply(found, receiver, rest);
  };
  const slice = method(String.prototype, 'slice');
  const split = method(String.prototype, 'split');
  const lower = method(String.prototype, 'toLowerCase');
  const codeUnit = method(String.prototype, 'charCodeAt');
  const indexOf = method(String.prototype, 'indexOf');
  const lastIndexOf = method(String.prototype, 'lastIndexOf');
  const startsWith = method(String.prototype, 'startsWith');
  const join = method(Array.prototype, 'join');
  const weakGet = method(WeakMap.prototype, 'get');
  const weakSet = method(WeakMap.prototype, 'set');
  const MapConstructor = Map;
  const mapGet = method(Map.prototype, 'get');
  const mapSet = method(Map.prototype, 'set');
  const mapDelete = method(Map.prototype, 'delete');
  const mapForEach = method(Map.prototype, 'forEach');
  const setForEach = method(Set.prototype, 'forEach');
  const mapSize = getOwnPropertyDescriptor(Map.prototype, 'size').get;
  const setSize = getOwnPropertyDescriptor(Set.prototype, 'size').get;
  const isA = (constructor) => {
    const { prototype } = constructor;
    const inPrototypes = Object.prototype.isPrototypeOf;
    return (value) => apply(inPrototypes, prototype, [value]);
  };
  const isMap = isA(Map);
  const isSet = isA(Set);
  const isDate = isA(Date);
  const isError = isA(Error);
  const isPromise = isA(Promise);
  const isRegExp = isA(RegExp);
  const TypedArray = getPrototypeOf(Uint8Array);
  const isTypedArray = isA(TypedArray);
  const typedArrayLength = getOwnPropertyDescriptor(TypedArray.prototype, 'length').get;
  const isArrayBuffer = isA(ArrayBuffer);
  const isUrl = isA(URL);
  const isUrlSearchParams = isA(URLSearchParams);
  const bufferLength = getOwnPropertyDescriptor(ArrayBuffer.prototype, 'byteLength').get;
  const regExpToString = RegExp.prototype.toString;

  const MAX_DEPTH = 100;
  const MAX_TEXT = 8192;
  // As in `quickjs/outbox.ts`.
  const MAX_ARGUMENTS_AT_ONCE = 16;
  const MAX_QUOTED_NAMES = 1000;
  const MAX_QUOTED_NAME_LENGTH = 64;

  // ---- state of one run; the image holds these initial values ----

  let limits = { calls: 0, builtinCalls: 0, input: 0, result: 0, logs: 0, logBytes: 0, output: 0, progress: 0 };
  let nextCall = 0;
  let toolCalls = 0;
  let builtinCalls = 0;
  const resolvers = [];
  const rejecters = [];
  // The promises themselves, so that the host can see who still waits for them.
  const promises = [];
  const errorRecords = new WeakMap();
  let outboxCalls = [];
  // The calls' arguments, which are JSON text already.
  let outboxArguments = [];
  let outboxUnits = 0;
  let outboxLogs = '';
  let outboxOutput = '';
  let outboxProgress = '';
  let outboxEnd = '';
  const used = { logs: 0, logBytes: 0, output: 0, progress: 0 };
  const dropped = { logs: 0, progress: 0 };
  let seed0 = 1;
  let seed1 = 2;
  let seed2 = 3;
  let seed3 = 4;

  // ---- errors ----

  const errorClasses = create(null);
  for (const code of [
    'ApprovalDeniedError',
    'ApprovalTimeoutError',
    'ToolNotFoundError',
    'ToolValidationError',
    'ToolExecutionError',
    'ToolBudgetExceededError',
    'SerializationError',
  ]) {
    const errorClass = { [code]: class extends ErrorConstructor {} }[code];
    defineProperty(errorClass.prototype, 'name', {
      value: code,
      writable: true,
      configurable: true,
      enumerable: false,
    });
    errorClasses[code] = errorClass;
    defineProperty(globalThis, code, { value: errorClass, writable: true, configurable: true, enumerable: false });
  }

  function makeError(code, message, data, record) {
    const errorClass = errorClasses[code] ?? errorClasses.ToolExecutionError;
    const error = new errorClass(message);
    defineProperty(error, 'code', { value: code, writable: true, configurable: true, enumerable: false });
    if (data !== undefined)
      defineProperty(error, 'data', { value: data, writable: true, configurable: true, enumerable: true });
    weakSet(errorRecords, error, record);
    // Nobody knows how the call ended. The host decides whether it may be made again.
    if (data?.status === 'unknown' && typeof data.idempotencyKey === 'string' && record.call !== undefined) {
      const retry = freeze(() => send('"$retry"', { call: record.call }));
      defineProperty(error, 'retry', { value: retry, writable: true, configurable: true, enumerable: false });
    }
    return error;
  }

  // ---- stacks ----

  const MAX_FRAMES = 10;
  const SCRIPT_FILE = 'script.ts:';

  let positionsText = '';
  /** By lines of the code: columns, and the places in the model's own source that they come from. */
  let positions;
  /** What the engine wrote for `Error.captureStackTrace`, by its target. */
  const capturedStacks = new WeakMap();

  /** The text that the engine made for an error, in lines of the code; undefined for what is none. */
  function rawStack(value) {
    return weakGet(capturedStacks, value) ?? apply(engineStack, value, []);
  }

  function readPositions() {
    const lines = parse(positionsText);
    let line = 0;
    let sourceColumn = 0;
    for (let index = 0; index < lines.length; index++) {
      const pieces = lines[index];
      let column = 0;
      for (let at = 0; at < pieces.length; at += 3) {
        pieces[at] = column += pieces[at];
        pieces[at + 1] = line += pieces[at + 1];
        pieces[at + 2] = sourceColumn += pieces[at + 2];
      }
    }
    positions = lines;
  }

  /** As in `script/position-table.ts`. Undefined for a place outside the script. */
  function originalPlace(line, column) {
    if (positionsText === '') return line + ':' + column;
    if (positions === undefined) readPositions();
    let index = line - 2;
    let pieces = positions[index];
    if (pieces === undefined) return undefined;
    let at = 0;
    while (at + 3 < pieces.length && pieces[at + 3] <= column) at += 3;
    const next = at + 3;
    const isRun =
      pieces[at] <= column &&
      pieces[next + 1] === pieces[at + 1] &&
      pieces[next + 2] - pieces[at + 2] === pieces[next] - pieces[at];
    const beyond = isRun ? column - pieces[at] : 0;
    while (pieces.length === 0 && index > 0) {
      pieces = positions[--index];
      at = pieces.length - 3;
    }
    return pieces.length === 0 ? undefined : pieces[at + 1] + ':' + (pieces[at + 2] + beyond);
  }

  /** A line of the engine's text as the script may see it; empty where the frame is not the script's. */
  function ownFrame(text) {
    const at = lastIndexOf(text, SCRIPT_FILE);
    if (at < 0 || !startsWith(text, '    at ')) return '';
    const place = split(slice(text, at + SCRIPT_FILE.length), ':');
    const original = originalPlace(+place[0], +split(place[1] ?? '', ')')[0]);
    if (original === undefined) return '';
    const name = slice(text, 7, max(at - 2, 7));
    return '    at ' + (name === '' || name === '<anonymous>' ? '' : name + ' ') + '(' + SCRIPT_FILE + original + ')';
  }

  /** The frames of the script, a line each, in the model's own lines. */
  function ownFrames(raw) {
    const lines = split(raw, '\n');
    const frames = [];
    for (let index = 0; index < lines.length && frames.length < MAX_FRAMES; index++) {
      const frame = ownFrame(lines[index]);
      if (frame !== '') frames[frames.length] = frame;
    }
    return join(frames, '\n');
  }

  /** What a script reads as `stack`; where the engine made no text, what it made. */
  function stackOf(value) {
    const frames = weakGet(errorRecords, value)?.frames;
    const raw = frames === undefined ? rawStack(value) : undefined;
    if (frames === undefined && typeof raw !== 'string') return raw;
    const shown = frames ?? ownFrames(raw);
    const title = isError(value) ? titleOf(value) : 'Error';
    return shown === '' ? title : title + '\n' + shown;
  }

  function titleOf(error) {
    const name = toText(error.name);
    const message = toText(error.message);
    return message === '' ? name : name + ': ' + message;
  }

  // Neither makes a frame of the bridge visible, nor a line that is not the model's own.
  const { get, set } = getOwnPropertyDescriptor(
    {
      get stack() {
        return stackOf(this);
      },
      set stack(value) {
        if (!defineProperty(this, 'stack', { value, writable: true, enumerable: false, configurable: true }))
          throw new TypeError('Cannot set the stack');
      },
    },
    'stack',
  );
  defineProperty(ErrorPrototype, 'stack', { get, set, enumerable: false, configurable: true });

  const captureStackTrace = {
    captureStackTrace(target, below) {
      engineCapture(target, typeof below === 'function' ? below : captureStackTrace);
      const made = getOwnPropertyDescriptor(target, 'stack');
      if (typeof made?.value !== 'string') return;
      weakSet(capturedStacks, target, made.value);
      made.value = stackOf(target);
      defineProperty(target, 'stack', made);
    },
  }.captureStackTrace;
  defineProperty(ErrorConstructor, 'captureStackTrace', {
    value: captureStackTrace,
    writable: true,
    enumerable: false,
    configurable: true,
  });

  // ---- values that cross ----

  /** What JSON cannot carry, as [path, reason]; thrown while a value is written, caught by the writer. */
  let uncarriable;
  const NOT_CARRIED = freeze({ __proto__: null });
  const pathTo = (path, inList, key) => (inList ? path + '[' + key + ']' : path + '.' + key);

  // The one table of what becomes of values that are no plain data; guest.md shows it, and a test holds them together.
  const CARRIED_CLASSES = freeze({
    __proto__: null,
    Object: true,
    Array: true,
    // Written as its name and message.
    Error: true,
    Boolean: true,
    Number: true,
    String: true,
    // These two have a toJSON.
    Date: true,
    URL: true,
  });
  const INSTEAD = freeze({
    __proto__: null,
    Map: 'use Object.fromEntries(map)',
    Set: 'use [...set]',
    WeakRef: 'use ref.deref()',
    Iterator: 'use [...iterator]',
    AsyncIterator: 'collect it with for await',
    RegExp: 'use String(pattern) or pattern.source',
    URLSearchParams: 'use String(params) or Object.fromEntries(params)',
    ArrayBuffer: 'for text use new TextDecoder().decode(buffer), for base64 new Uint8Array(buffer).toBase64()',
    Uint8Array: 'for text use new TextDecoder().decode(bytes), for base64 bytes.toBase64(), for numbers [...bytes]',
  });

  /** Why an object is not carried, by a prototype that it inherits from: JSON would write most of them as {}. */
  const refusals = new WeakMap();

  function refuseClass(name, prototype) {
    const article = name[0] === 'A' || name[0] === 'I' ? 'an ' : 'a ';
    const instead = INSTEAD[name] ?? (isTypedArray(prototype) ? 'use [...numbers]' : undefined);
    weakSet(refusals, prototype, article + name + (instead === undefined ? '' : '; ' + instead));
  }

  for (const holder of [globalThis, Intl]) {
    for (const name of ownKeys(holder)) {
      const prototype = typeof name === 'string' ? holder[name]?.prototype : undefined;
      if (typeof prototype !== 'object' || isError(prototype) || CARRIED_CLASSES[name] === true) continue;
      refuseClass(name, prototype);
    }
  }
  refuseClass('AsyncIterator', getPrototypeOf(getPrototypeOf(async function* () {}.prototype)));
  weakSet(refusals, Promise.prototype, 'a Promise that was not awaited');

  function whyNotCarried(value) {
    switch (typeof value) {
      case 'bigint':
        return 'a BigInt; convert it with Number() or String()';
      case 'symbol':
        return 'a Symbol';
      case 'function':
        return 'a function';
      case 'object':
        break;
      default:
        return undefined;
    }
    if (value === null || isArray(value)) return undefined;
    let prototype = getPrototypeOf(value);
    while (prototype !== null && prototype !== ObjectPrototype) {
      const reason = weakGet(refusals, prototype);
      if (reason !== undefined) return reason;
      prototype = getPrototypeOf(prototype);
    }
    return undefined;
  }

  /** An error as data: its name and message, what it was made of, and what the script has added. */
  function errorAsData(error) {
    const data = create(null);
    data.name = toText(error.name);
    data.message = toText(error.message);
    if (getOwnPropertyDescriptor(error, 'cause') !== undefined) data.cause = error.cause;
    if (getOwnPropertyDescriptor(error, 'errors') !== undefined) data.errors = error.errors;
    const added = keys(error);
    for (let index = 0; index < added.length; index++) data[added[index]] ??= error[added[index]];
    return data;
  }

  /**
   * JSON text of a value, or undefined for undefined. Throws NOT_CARRIED, with `uncarriable` set, where JSON
   * would lose or refuse something. Every getter and toJSON runs once, and what they give is held to the rules.
   */
  function writeJson(value, root) {
    // What is written from the root down to the one whose members are being written, the script's objects that it was
    // made of, and the keys that led there.
    const holders = [];
    const sources = [];
    const heldBy = [];
    let depth = 0;
    const refuse = (key, reason) => {
      let path = root;
      for (let index = 1; index < depth; index++) path = pathTo(path, isArray(holders[index - 1]), heldBy[index]);
      if (depth > 0) path = pathTo(path, isArray(holders[depth - 1]), key);
      uncarriable = [path, reason];
      throw NOT_CARRIED;
    };
    return stringify(value, function (key, member) {
      while (depth > 0 && holders[depth - 1] !== this) depth--;
      const reason = whyNotCarried(member);
      if (reason !== undefined) refuse(key, reason);
      if (typeof member !== 'object' || member === null) return member;
      for (let index = 0; index < depth; index++) if (sources[index] === member) refuse(key, 'a cycle');
      if (depth >= MAX_DEPTH) refuse(key, 'nested deeper than ' + MAX_DEPTH + ' levels');
      const written = isError(member) ? errorAsData(member) : member;
      holders[depth] = written;
      sources[depth] = member;
      heldBy[depth] = key;
      depth++;
      return written;
    });
  }

  /** What JSON text was read as: a tree, and no deeper than that may be. */
  function deepFreeze(value) {
    if (typeof value !== 'object' || value === null) return value;
    if (isArray(value)) {
      for (let index = 0; index < value.length; index++) {
        const member = value[index];
        if (typeof member === 'object' && member !== null) deepFreeze(member);
      }
    } else {
      const names = keys(value);
      for (let index = 0; index < names.length; index++) {
        const member = value[names[index]];
        if (typeof member === 'object' && member !== null) deepFreeze(member);
      }
    }
    return freeze(value);
  }

  // ---- calls ----

  // By name, as JSON and with the colon behind it.
  const quotedNames = create(null);
  let quotedCount = 0;

  function quoteName(name) {
    const quoted = stringify(name) + ':';
    if (name.length <= MAX_QUOTED_NAME_LENGTH && quotedCount++ < MAX_QUOTED_NAMES) quotedNames[name] = quoted;
    return quoted;
  }

  /**
   * JSON text of an object of its own plain members, none of which could be written otherwise; empty for any other
   * value. Most arguments are such objects, and `stringify` takes three times as long for them.
   */
  function writeFlat(value) {
    if (typeof value !== 'object' || value === null || getPrototypeOf(value) !== ObjectPrototype) return '';
    if (isArray(value) || typeof value.toJSON === 'function') return '';
    const names = keys(value);
    // Nothing, or what looks like a list: it may be a number or a text in an object's clothes.
    if (names.length === 0 || names[0] === '0') return '';
    let text = '{';
    for (let index = 0; index < names.length; index++) {
      const name = names[index];
      const member = value[name];
      if (index > 0) text += ',';
      text += quotedNames[name] ?? quoteName(name);
      switch (typeof member) {
        case 'string':
          text += stringify(member);
          continue;
        case 'number':
          text += isFiniteNumber(member) ? member : 'null';
          continue;
        case 'boolean':
          text += member;
          continue;
        default:
          return '';
      }
    }
    return text + '}';
  }

  /** Why the arguments that were just written cannot be carried; empty where they can. */
  let problem = '';

  /** The arguments' JSON text; empty, with `problem` set, where they have none. */
  function writeArguments(value) {
    problem = '';
    if (value === undefined) return '{}';
    try {
      const text = writeFlat(value) || writeJson(value, 'args');
      // What was written may have called tools itself, so this is set last.
      problem = '';
      if (text === undefined) problem = 'args: nothing that JSON can carry';
      else if (outboxUnits + text.length > limits.input * MAX_ARGUMENTS_AT_ONCE)
        problem =
          'args: the calls made at once carry more than ' +
          limits.input * MAX_ARGUMENTS_AT_ONCE +
          ' characters; await some of them first';
      else if (text.length > limits.input)
        problem =
          'args: ' + text.length + ' characters of JSON are more than the ' + limits.input + ' a call may carry';
      else return text;
    } catch (error) {
      // defence: bounded-argument-problem, without it: problem = error === NOT_CARRIED ? uncarriable[0] + ': ' + uncarriable[1] : describeText(error);
      problem =
        error === NOT_CARRIED
          ? capText(uncarriable[0]) + ': ' + uncarriable[1]
          : 'args: cannot be written as JSON (' + capText(describeText(error)) + ')';
    }
    return '';
  }

  let madeResolve;
  let madeReject;
  const keepResolvers = (resolve, reject) => {
    madeResolve = resolve;
    madeReject = reject;
  };

  /**
   * `quotedName` as JSON. `isBuiltin`: a call of the bridge's own functions (sleep, catalog), which is no tool call
   * and has a budget of its own.
   */
  function send(quotedName, value, isBuiltin) {
    // defence: builtin-calls-are-bounded
    if (isBuiltin ? builtinCalls >= limits.builtinCalls : toolCalls >= limits.calls) return refusedCall(isBuiltin);
    // What is written may call tools itself: they come first.
    const text = writeArguments(value);
    // defence: budget-after-arguments
    if (isBuiltin ? builtinCalls >= limits.builtinCalls : toolCalls >= limits.calls) return refusedCall(isBuiltin);
    const entry = '[' + quotedName + ',' + text.length + (problem === '' ? ']' : ',' + stringify(problem) + ']');
    const promise = new PromiseConstructor(keepResolvers);
    const resolve = madeResolve;
    const reject = madeReject;
    madeResolve = madeReject = undefined;
    const count = outboxCalls.length;
    try {
      resolvers[nextCall] = resolve;
      rejecters[nextCall] = reject;
      promises[nextCall] = promise;
      outboxArguments[count] = text;
      outboxCalls[count] = entry;
      // The host counts the call and reads its place at this moment.
      tellHost();
    } catch (error) {
      outboxCalls.length = outboxArguments.length = count;
      resolvers.length = rejecters.length = promises.length = nextCall;
      throw error;
    }
    nextCall++;
    outboxUnits += text.length;
    if (isBuiltin) builtinCalls++;
    else toolCalls++;
    return promise;
  }

  function refusedCall(isBuiltin) {
    const message = isBuiltin
      ? 'A script may make ' +
        limits.builtinCalls +
        ' calls of sleep, timers, catalog and tools.spawn, and this one has. Ask for more at once, or wait longer.'
      : 'The script made far more calls than it may; this one was not sent.';
    return new PromiseConstructor((_, reject) =>
      reject(makeError('ToolBudgetExceededError', message, undefined, { code: 'ToolBudgetExceededError' })),
    );
  }

  function settle(batchText) {
    const batch = parse(batchText);
    for (let index = 0; index < batch.length; index++) {
      const entry = batch[index];
      const call = entry[0];
      const resolve = resolvers[call];
      const reject = rejecters[call];
      if (resolve === undefined) continue;
      resolvers[call] = rejecters[call] = promises[call] = undefined;
      // Read from text just now, so it is the script's own to change: nothing else refers to it.
      if (entry[1] === 1) resolve(entry[2]);
      else reject(makeError(entry[2], entry[3], entry[4], { call, code: entry[2], frames: entry[1] }));
    }
  }

  // ---- the tools object ----

  function editDistance(left, right) {
    let previous = [];
    for (let column = 0; column <= right.length; column++) previous[column] = column;
    for (let row = 1; row <= left.length; row++) {
      const current = [row];
      for (let column = 1; column <= right.length; column++) {
        const cost = codeUnit(left, row - 1) === codeUnit(right, column - 1) ? 0 : 1;
        current[column] = min(previous[column] + 1, current[column - 1] + 1, previous[column - 1] + cost);
      }
      previous = current;
    }
    return previous[right.length];
  }

  function tokensOf(name) {
    let spaced = '';
    for (let index = 0; index < name.length; index++) {
      const unit = codeUnit(name, index);
      const upper = unit >= 65 && unit <= 90;
      const plain = upper || (unit >= 97 && unit <= 122) || (unit >= 48 && unit <= 57);
      spaced += (upper ? ' ' : '') + (plain ? name[index] : ' ');
    }
    return split(lower(spaced), ' ');
  }

  function nearestNames(wanted, names) {
    const wantedTokens = tokensOf(wanted);
    const scored = [];
    for (let index = 0; index < names.length && index < 2000; index++) {
      const name = names[index];
      const tokens = tokensOf(name);
      let shared = 0;
      for (let left = 0; left < wantedTokens.length; left++) {
        const token = wantedTokens[left];
        if (token.length < 3) continue;
        for (let right = 0; right < tokens.length; right++) {
          const other = tokens[right];
          if (
            other === token ||
            (other.length > 2 && (slice(other, 0, token.length) === token || slice(token, 0, other.length) === other))
          )
            shared++;
        }
      }
      const longest = max(wanted.length, name.length, 1);
      const closeness = longest > 64 ? 0 : 1 - editDistance(lower(wanted), lower(name)) / longest;
      const score = closeness + shared * 0.4;
      if (closeness >= 0.6 || shared > 0) scored[scored.length] = { name, score };
    }
    const best = [];
    while (best.length < 3) {
      let top;
      for (let index = 0; index < scored.length; index++)
        if (scored[index].score > (top?.score ?? 0)) top = scored[index];
      if (top === undefined) break;
      best[best.length] = top.name;
      top.score = 0;
    }
    return best;
  }

  const OPTIONAL_MEMBERS = freeze({ __proto__: null, mcp: true, spawn: true, http: true, then: true, toJSON: true });

  // The tools object is made as it is used: a script rarely touches more than a few of many tools. Each
  // namespace is a proxy over a null-prototype object that cannot be extended. A member starts as the text of
  // the tool's full name (or, for a namespace, as an object of such) and becomes a read-only function when it
  // is first looked at.
  const namespacePaths = new WeakMap();
  const rootNamespace = create(null);
  weakSet(namespacePaths, rootNamespace, '');
  let toolsText = '';
  /** What the ids of detached tasks begin with; empty where there are none. */
  let taskPrefix = '';
  let contextText = '{}';
  let context;

  /** Reads the tools' names into the root, before anything else is asked of it. */
  function fillRoot() {
    if (toolsText === '') return;
    const tree = parse(toolsText);
    const names = keys(tree);
    for (let index = 0; index < names.length; index++) rootNamespace[names[index]] = tree[names[index]];
    if (taskPrefix !== '' && rootNamespace.spawn === undefined) ownMember(rootNamespace, 'spawn', makeSpawn());
    preventExtensions(rootNamespace);
    // Last: where the heap was full on the way, the next look begins again.
    toolsText = '';
  }

  const ownMember = (target, name, value) =>
    defineProperty(target, name, { value, writable: false, configurable: false, enumerable: true });

  function toolNames(branch, names) {
    const members = keys(branch);
    for (let index = 0; index < members.length; index++) {
      const member = branch[members[index]];
      if (branch === rootNamespace && members[index] === 'spawn') continue;
      if (typeof member === 'object') toolNames(member, names);
      else if (typeof member === 'string') names[names.length] = member;
      else if (typeof member === 'function') names[names.length] = member.name;
    }
    return names;
  }

  function unknownTool(wanted) {
    const names = toolNames(rootNamespace, []);
    const near = nearestNames(wanted, names);
    const most = 20;
    let advice = ' No tools are available.';
    if (near.length > 0) advice = ' Did you mean ' + join(near, ', ') + '?';
    else if (names.length > 0)
      advice = ' Available: ' + join(names.slice(0, most), ', ') + (names.length > most ? ', …' : '') + '.';
    return makeError('ToolNotFoundError', 'There is no tool tools.' + wanted + '.' + advice, undefined, {
      code: 'ToolNotFoundError',
    });
  }

  function member(target, key) {
    const own = getOwnPropertyDescriptor(target, key);
    if (own === undefined || !own.writable) return own;
    const made =
      typeof own.value === 'string'
        ? toolFunction(own.value)
        : makeNamespace(own.value, weakGet(namespacePaths, target) + key + '.');
    ownMember(target, key, made);
    return getOwnPropertyDescriptor(target, key);
  }

  const refuseChange = (target, key) => {
    throw new TypeError('tools.' + weakGet(namespacePaths, target) + toText(key) + ' cannot be changed');
  };

  const namespaceHandler = freeze({
    __proto__: null,
    get(target, key) {
      const own = member(target, key);
      if (own !== undefined) return own.value;
      if (typeof key === 'symbol' || OPTIONAL_MEMBERS[key] === true) return undefined;
      throw unknownTool(weakGet(namespacePaths, target) + key);
    },
    getOwnPropertyDescriptor: (target, key) => member(target, key),
    set: refuseChange,
    defineProperty: refuseChange,
    deleteProperty: refuseChange,
    setPrototypeOf() {
      throw new TypeError('tools cannot be changed');
    },
  });

  const rootHandler = freeze({
    ...namespaceHandler,
    __proto__: null,
    get(target, key) {
      if (toolsText !== '') fillRoot();
      const made = target[key];
      return typeof made === 'function' ? made : namespaceHandler.get(target, key);
    },
    getOwnPropertyDescriptor(target, key) {
      fillRoot();
      return member(target, key);
    },
    has(target, key) {
      fillRoot();
      return key in target;
    },
    ownKeys(target) {
      fillRoot();
      return ownKeys(target);
    },
    isExtensible() {
      fillRoot();
      return false;
    },
    preventExtensions() {
      fillRoot();
      return true;
    },
  });

  function makeNamespace(members, path) {
    setPrototypeOf(members, null);
    preventExtensions(members);
    weakSet(namespacePaths, members, path);
    return new ProxyConstructor(members, namespaceHandler);
  }

  /** A function whose name is the tool's. */
  function toolFunction(name) {
    const quoted = stringify(name);
    return freeze({ [name]: (args) => send(quoted, args) }[name]);
  }

  function makeSpawn() {
    const ask = (what, id) => send('"$tasks"', { what, id }, true);
    const exec = (name, args) => {
      const request = { name: toText(name), args: args === undefined ? {} : args };
      const done = send('"$spawn"', request);
      // Its own index is the last one. A refused one has none.
      const id = promises[nextCall - 1] === done ? taskPrefix + (nextCall - 1) : '';
      return freeze({ id, done, cancel: freeze(() => ask('cancel', id)) });
    };
    return freeze({
      __proto__: null,
      exec: freeze(exec),
      list: freeze(() => ask('list')),
      read: freeze((id) => ask('read', toText(id))),
      wait: freeze((id) => ask('wait', toText(id))),
      cancel: freeze((id) => ask('cancel', toText(id))),
    });
  }

  // ---- text for people ----

  function describeText(value) {
    try {
      return isError(value) ? titleOf(value) : inspect(value, 0, null);
    } catch {
      return 'a value that cannot be shown';
    }
  }

  function inspectMembers(value, depth, chain) {
    const names = keys(value);
    const shown = [];
    for (let index = 0; index < names.length; index++) {
      if (index === 100) {
        shown[index] = '… ' + (names.length - 100) + ' more';
        break;
      }
      shown[index] = names[index] + ': ' + inspect(value[names[index]], depth + 1, chain);
    }
    return shown.length === 0 ? '{}' : '{ ' + join(shown, ', ') + ' }';
  }

  function inspectList(open, count, visit, close) {
    const shown = [];
    visit((text) => {
      if (shown.length < 100) shown[shown.length] = text;
    });
    if (count > 100) shown[shown.length] = '… ' + (count - 100) + ' more';
    return open + join(shown, ', ') + close;
  }

  /** With its stack, and what caused it. */
  function inspectError(error, chain) {
    let shown = titleOf(error);
    const { stack } = error;
    // Its own title may be of the time when the error was made.
    const frames = typeof stack === 'string' ? indexOf(stack, '\n    at ') : -1;
    if (frames >= 0) shown += slice(stack, frames);
    if (getOwnPropertyDescriptor(error, 'cause') !== undefined)
      shown += '\n  [cause]: ' + inspect(error.cause, 1, chain);
    if (getOwnPropertyDescriptor(error, 'errors') !== undefined)
      shown += '\n  [errors]: ' + inspect(error.errors, 1, chain);
    return shown;
  }

  function inspectElements(open, count, elements, depth, chain) {
    return inspectList(
      open,
      count,
      (add) => {
        for (let index = 0; index < count && index < 100; index++) add(inspect(elements[index], depth + 1, chain));
      },
      ']',
    );
  }

  function inspect(value, depth, ancestors) {
    switch (typeof value) {
      case 'string':
        return depth === 0 ? value : stringify(value);
      case 'bigint':
        return value + 'n';
      case 'function':
        return '[Function ' + (toText(value.name) || 'anonymous') + ']';
      case 'object':
        break;
      default:
        return toText(value);
    }
    if (value === null) return 'null';
    for (let link = ancestors; link !== null; link = link.up) if (link.value === value) return '[Circular]';
    const chain = { value, up: ancestors };
    if (isError(value)) return depth === 0 ? inspectError(value, chain) : describeText(value);
    if (isDate(value))
      return isFiniteNumber(apply(dateGetTime, value, [])) ? apply(dateToIso, value, []) : 'Invalid Date';
    if (isRegExp(value)) return apply(regExpToString, value, []);
    if (isUrl(value)) return 'URL ' + stringify(toText(value));
    if (isUrlSearchParams(value)) return 'URLSearchParams ' + stringify(toText(value));
    if (isPromise(value)) return 'Promise { … }';
    if (depth > 6) return isArray(value) ? '[…]' : '{…}';
    if (isArray(value)) return inspectElements('[', value.length, value, depth, chain);
    if (isTypedArray(value)) {
      const length = apply(typedArrayLength, value, []);
      return inspectElements(value.constructor.name + '(' + length + ') [', length, value, depth, chain);
    }
    if (isArrayBuffer(value)) return 'ArrayBuffer(' + apply(bufferLength, value, []) + ' bytes)';
    if (isMap(value))
      return inspectList(
        'Map {',
        apply(mapSize, value, []),
        (add) =>
          mapForEach(value, (member, key) =>
            add(inspect(key, depth + 1, chain) + ' => ' + inspect(member, depth + 1, chain)),
          ),
        '}',
      );
    if (isSet(value))
      return inspectList(
        'Set {',
        apply(setSize, value, []),
        (add) => setForEach(value, (member) => add(inspect(member, depth + 1, chain))),
        '}',
      );
    const body = inspectMembers(value, depth, chain);
    const className = classNameOf(value);
    return className === '' || className === 'Object' ? body : className + ' ' + body;
  }

  /** The name of a value's class; of a generator, which has none, its tag. */
  function classNameOf(value) {
    const prototype = getPrototypeOf(value);
    if (prototype !== null && typeof prototype.constructor === 'function') return toText(prototype.constructor.name);
    const tag = value[toStringTag];
    return typeof tag === 'string' ? tag : '';
  }

  const capText = (text) =>
    text.length > MAX_TEXT ? slice(text, 0, MAX_TEXT) + '… [' + (text.length - MAX_TEXT) + ' more characters]' : text;

  /** One value of a line; see `console.js`. */
  function show(value, depth) {
    try {
      return inspect(value, depth, null);
    } catch {
      return '[a value that cannot be shown]';
    }
  }

  function writeLog(level, makeText) {
    if (used.logs >= limits.logs || used.logBytes >= limits.logBytes) {
      dropped.logs++;
      return;
    }
    let text = '[a value that cannot be shown]';
    try {
      text = capText(makeText());
    } catch {
      // A label or a member of a table that cannot be read.
    }
    // defence: budget-after-log-text
    if (used.logs >= limits.logs || used.logBytes >= limits.logBytes) {
      dropped.logs++;
      return;
    }
    used.logs++;
    used.logBytes += text.length;
    outboxLogs += (outboxLogs === '' ? '["' : ',["') + level + '",' + stringify(text) + ']';
  }

  const consoleObject = globalThis.makeConsole({ write: writeLog, show, nowMs: dateNow });
  delete globalThis.makeConsole;

  /** Data as JSON, anything else as the console would show it. */
  function shownAsJson(value) {
    try {
      const json = typeof value === 'object' && value !== null && !isError(value) ? writeJson(value, '') : undefined;
      if (isError(value)) return describeText(value);
      return json === undefined ? inspect(value, 0, null) : json;
    } catch {
      return describeText(value);
    }
  }

  function text(value) {
    const added = typeof value === 'string' ? value : shownAsJson(value);
    const room = limits.output - used.output;
    if (room <= 0) return;
    used.output += added.length;
    // The host counts bytes, and says what it cut.
    outboxOutput += added.length > room ? slice(added, 0, room + 1) : added;
  }

  function emitProgress(message, kind) {
    if (used.progress >= limits.progress * 4 + 64) {
      dropped.progress++;
      return;
    }
    const shown = capText(toText(message));
    // defence: budget-after-progress-text
    if (used.progress >= limits.progress * 4 + 64) {
      dropped.progress++;
      return;
    }
    used.progress++;
    outboxProgress +=
      (outboxProgress === '' ? '[' : ',[') + stringify(shown) + ',' + (kind === 'warn' ? '"warn"' : '"info"') + ']';
  }

  freeze(emitProgress);

  function wait(duration, isTimer) {
    const wanted = +duration;
    const ms = wanted > 0 ? min(wanted, 2147483647) : 0;
    return send('"$sleep"', isTimer ? { ms, timer: true } : { ms }, true);
  }

  const sleep = { sleep: (duration) => wait(duration, false) }.sleep;

  // ---- timers ----

  // By their ids, what decides their races.
  const timers = new MapConstructor();
  let lastTimer = 0;
  const CLEARED = freeze({ __proto__: null });

  function newTimer(callback) {
    if (typeof callback !== 'function') throw new TypeError('The callback of a timer must be a function.');
    return ++lastTimer;
  }

  /**
   * A timer is a call of `sleep` in a race. Where it is cleared, the race is decided and nothing can observe the call any
   * more: the host ends it, as it ends every loser of a race.
   */
  function startTimer(id, duration, fire) {
    const slept = wait(duration, true);
    const race = new PromiseConstructor((resolve, reject) => {
      mapSet(timers, id, resolve);
      apply(promiseThen, slept, [resolve, reject]);
    });
    apply(promiseThen, race, [(answer) => (answer === CLEARED ? undefined : fire())]);
  }

  function setTimeout(callback, duration, ...values) {
    const id = newTimer(callback);
    startTimer(id, duration, () => {
      mapDelete(timers, id);
      return apply(callback, undefined, values);
    });
    return id;
  }

  function setInterval(callback, duration, ...values) {
    const id = newTimer(callback);
    const fire = () => {
      startTimer(id, duration, fire);
      return apply(callback, undefined, values);
    };
    startTimer(id, duration, fire);
    return id;
  }

  function clearTimeout(id) {
    const decide = mapGet(timers, id);
    if (decide === undefined) return;
    mapDelete(timers, id);
    decide(CLEARED);
  }

  const clearInterval = { clearInterval: (id) => clearTimeout(id) }.clearInterval;

  const catalog = freeze({
    __proto__: null,
    search: freeze((query, options) =>
      send(
        '"$catalog"',
        {
          what: 'search',
          query: toText(query),
          limit: options?.limit === undefined ? undefined : +options.limit,
        },
        true,
      ),
    ),
    describe: freeze((name) => send('"$catalog"', { what: 'describe', name: toText(name) }, true)),
    list: freeze((namespace) =>
      send('"$catalog"', { what: 'list', namespace: namespace === undefined ? undefined : toText(namespace) }, true),
    ),
  });

  // ---- clock and chance ----

  // sfc32 (Chris Doty-Humphrey's small fast counting generator); the host seeds and warms it.
  function nextWord() {
    const sum = (((seed0 + seed1) | 0) + seed3) | 0;
    seed3 = (seed3 + 1) | 0;
    seed0 = seed1 ^ (seed1 >>> 9);
    seed1 = (seed2 + (seed2 << 3)) | 0;
    seed2 = (seed2 << 21) | (seed2 >>> 11);
    seed2 = (seed2 + sum) | 0;
    return sum >>> 0;
  }

  const random = { random: () => ((nextWord() >>> 5) * 67108864 + (nextWord() >>> 6)) / 9007199254740992 }.random;
  defineProperty(Math, 'random', { value: random, writable: true, configurable: true, enumerable: false });

  let timeOrigin = 0;
  const performanceObject = {
    now() {
      return dateNow() - timeOrigin;
    },
    get timeOrigin() {
      return timeOrigin;
    },
    toJSON() {
      return { timeOrigin };
    },
  };

  const shared = (name, value) =>
    defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable: false });
  shared('console', consoleObject);
  shared('performance', performanceObject);
  shared('text', text);
  shared('emit', text);
  shared('sleep', sleep);
  shared('setTimeout', setTimeout);
  shared('setInterval', setInterval);
  shared('clearTimeout', clearTimeout);
  shared('clearInterval', clearInterval);
  shared('catalog', catalog);

  // ---- the script's life ----

  /** A list, because it is read for every script: the limits, the seed, the run's id where tasks can be detached, then texts that are parsed when they are needed. The positions of the code may be long, and stand behind it. */
  function begin(initText) {
    const listEnd = indexOf(initText, '\n');
    const init = parse(slice(initText, 0, listEnd));
    positionsText = slice(initText, listEnd + 1);
    limits = {
      calls: init[0],
      builtinCalls: init[1],
      input: init[2],
      result: init[3],
      logs: init[4],
      logBytes: init[5],
      output: init[6],
      progress: init[7],
    };
    seed0 = init[8];
    seed1 = init[9];
    seed2 = init[10];
    seed3 = init[11];
    timeOrigin = dateNow();
    if (init[12] !== 0) taskPrefix = 'task_' + init[12] + '_';
    toolsText = init[13];
    contextText = init[14];
  }

  /** Called once, after the realm was locked down: these two are read-only, and made when they are first used. */
  function publish() {
    defineProperty(globalThis, 'tools', {
      value: new ProxyConstructor(rootNamespace, rootHandler),
      writable: false,
      configurable: false,
      enumerable: false,
    });
    const readContext = freeze(() => (context ??= makeContext(contextText)));
    defineProperty(globalThis, 'context', { get: readContext, set: undefined, configurable: false, enumerable: false });
  }

  /** Made when it is first read: most scripts never do. */
  function makeContext(text) {
    const made = parse(text);
    const telemetry = typeof made.telemetry === 'object' && made.telemetry !== null ? made.telemetry : {};
    // Not enumerable: the context is data that a script may return or pass on.
    defineProperty(telemetry, 'emitProgress', { value: emitProgress, enumerable: false });
    defineProperty(made, 'telemetry', { value: telemetry, enumerable: true });
    defineProperty(made, 'emitProgress', { value: emitProgress, enumerable: false });
    return deepFreeze(made);
  }

  function largestKeys(value) {
    if (typeof value !== 'object' || value === null) return [];
    const names = keys(value);
    const sized = [];
    for (let index = 0; index < names.length && index < 200; index++) {
      const member = stringify(value[names[index]]);
      sized[index] = { name: names[index], size: member === undefined ? 0 : member.length };
    }
    const best = [];
    while (best.length < 3) {
      let top;
      for (let index = 0; index < sized.length; index++) if (sized[index].size > (top?.size ?? 0)) top = sized[index];
      if (top === undefined) break;
      best[best.length] = capText(top.name) + ' (' + top.size + ')';
      top.size = 0;
    }
    return best;
  }

  /** UTF-8 length of JSON text. */
  function byteLength(text) {
    let bytes = text.length;
    if (bytes * 3 <= limits.result) return bytes;
    for (let index = 0; index < text.length; index++) {
      const unit = codeUnit(text, index);
      if (unit >= 0x80) bytes += unit >= 0x800 && (unit < 0xd800 || unit > 0xdfff) ? 2 : 1;
    }
    return bytes;
  }

  function onReturned(value) {
    try {
      const json = writeJson(value, 'value');
      if (json === undefined) {
        outboxEnd = '["returned"]';
        return;
      }
      const bytes = json.length > limits.result * 8 ? json.length : byteLength(json);
      if (bytes > limits.result)
        outboxEnd =
          '["return_too_large",' +
          bytes +
          ',' +
          stringify(slice(json, 0, 1024)) +
          ',' +
          stringify(largestKeys(value)) +
          ']';
      else outboxEnd = '["returned",' + stringify(json) + ']';
    } catch (error) {
      if (error === NOT_CARRIED)
        outboxEnd = '["unserializable",' + stringify(capText(uncarriable[0])) + ',' + stringify(uncarriable[1]) + ']';
      else onThrew(error);
    }
  }

  function readMember(value, name) {
    try {
      const member = value[name];
      return member === undefined ? '' : capText(toText(member));
    } catch {
      return '';
    }
  }

  /** In lines of the code: the host maps them itself, whatever the script has made of the error. */
  function readStack(value) {
    const raw = rawStack(value);
    return typeof raw === 'string' ? capText(raw) : '';
  }

  /** JSON text of what was thrown. Texts are the guest's; `record` is our own. */
  function describeThrown(value) {
    const isObject = (typeof value === 'object' && value !== null) || typeof value === 'function';
    const record = isObject ? weakGet(errorRecords, value) : undefined;
    let thrown = { name: '', message: 'a value that cannot be shown', stack: '' };
    try {
      thrown = isError(value)
        ? { name: readMember(value, 'name'), message: readMember(value, 'message'), stack: readStack(value) }
        : { name: '', message: capText(describeText(value)), stack: '' };
    } catch {
      // A revoked proxy, or one that throws for everything it is asked.
    }
    thrown.callIndex = record?.call;
    thrown.code = record?.code;
    return stringify(thrown);
  }

  function onThrew(error) {
    outboxEnd = '["threw",' + describeThrown(error) + ']';
  }

  function start(script) {
    apply(promiseThen, script(), [onReturned, onThrew]);
  }

  function flush() {
    const count = outboxCalls.length;
    const hasDropped = dropped.logs + dropped.progress > 0;
    const quiet = outboxEnd === '' && outboxLogs === '' && outboxOutput === '' && outboxProgress === '' && !hasDropped;
    // What most segments come to: nothing, or one call.
    if (quiet && count < 2) {
      if (count === 0) return '';
      const one = ':{"calls":[' + outboxCalls[0] + ']}\n' + outboxArguments[0];
      outboxCalls = [];
      outboxArguments = [];
      outboxUnits = 0;
      return one;
    }
    let said = '';
    const say = (name, json) => {
      said += (said === '' ? '"' : ',"') + name + '":' + json;
    };
    if (count > 0) say('calls', '[' + join(outboxCalls, ',') + ']');
    if (outboxLogs !== '') say('logs', '[' + outboxLogs + ']');
    if (outboxProgress !== '') say('progress', '[' + outboxProgress + ']');
    if (outboxOutput !== '') say('output', stringify(outboxOutput));
    if (hasDropped) say('dropped', '[' + dropped.logs + ',' + dropped.progress + ']');
    if (outboxEnd !== '') say('end', outboxEnd);
    const out = (outboxEnd === '' ? ':{' : '!{') + said + '}\n' + join(outboxArguments, '');
    outboxCalls = [];
    outboxArguments = [];
    outboxUnits = 0;
    outboxLogs = outboxProgress = outboxOutput = '';
    dropped.logs = dropped.progress = 0;
    return out;
  }

  return { publish, begin, start, settle, flush, describeThrown, promises };
});
