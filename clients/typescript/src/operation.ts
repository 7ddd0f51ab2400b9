// Work that goes on in the service: handles, and waiting.

import * as calls from "./calls.js";
import { OperationFailed, WaitTimeout } from "./errors.js";
import { pause } from "./transport.js";
import type { Transport } from "./transport.js";
import type * as types from "./types.js";

const STEP_SECONDS = 20;
const LEAST_SECONDS = 0.25;

/** An operation as it was when last asked for. */
export class Operation<R> {
  /** All that the service said. */
  state: types.Operation;
  readonly #transport: Transport;

  constructor(transport: Transport, state: types.Operation) {
    this.#transport = transport;
    this.state = state;
  }

  /** Its full name. */
  get name(): string {
    return this.state.name;
  }

  /** True if its work has ended, well or not. */
  get done(): boolean {
    return this.state.done ?? false;
  }

  /** The account of its work. */
  get metadata(): types.OperationMetadata {
    return this.state.metadata;
  }

  /** Ask for its state, and return itself. */
  async refresh(): Promise<this> {
    const ids = { operation: this.name };
    this.state = await this.#transport.ask(calls.GET_OPERATION, ids, {});
    return this;
  }

  /**
   * Return its response once it is done.
   *
   * Throws OperationFailed if its work failed, WaitTimeout if it is not done in time.
   */
  async wait(seconds = 60, signal?: AbortSignal): Promise<R> {
    const end = Date.now() + seconds * 1000;
    while (!this.done) {
      const left = (end - Date.now()) / 1000;
      if (left <= 0) throw new WaitTimeout(this, seconds);
      const step = Math.min(left, STEP_SECONDS);
      const options = { timeout: `${step.toFixed(3)}s`, signal };
      const begin = Date.now();
      this.state = await this.#transport.ask(
        calls.WAIT_OPERATION, { operation: this.name }, options, step,
      );
      if (!this.done) {
        // A service that is about to stop answers at once.
        await pause(Math.min(left, LEAST_SECONDS) - (Date.now() - begin) / 1000, signal);
      }
    }
    if (this.state.error) throw new OperationFailed(this.state, this.state.error);
    return this.state.response as R;
  }
}
