import { Component, type ReactNode } from 'react';

interface ShownPartProps {
  /** A part that failed is rendered again when this value changes. */
  readonly of: unknown;
  readonly children: ReactNode;
}

interface ShownPartState {
  readonly problem: string | undefined;
}

/** A part of the page. If it cannot be rendered, a sentence replaces it, and the rest of the page stays. */
export class ShownPart extends Component<ShownPartProps, ShownPartState> {
  override state: ShownPartState = { problem: undefined };

  static getDerivedStateFromError(error: unknown): ShownPartState {
    return { problem: error instanceof Error ? error.message : String(error) };
  }

  override componentDidUpdate({ of }: ShownPartProps): void {
    if (of !== this.props.of && this.state.problem !== undefined) this.setState({ problem: undefined });
  }

  override render(): ReactNode {
    const { problem } = this.state;
    if (problem === undefined) return this.props.children;
    return (
      <p className="error-text" role="alert">
        This part cannot be shown: {problem}. Export the conversation as JSON to read it.
      </p>
    );
  }
}
