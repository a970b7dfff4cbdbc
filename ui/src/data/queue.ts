// A short queue for questions that may wait, such as the hottest function of each row: never more than a few at a time,
// so that they do not stand in the way of the picture; what nobody waits for any more leaves the queue unasked.

type Job = () => void;

export class Queue {
  private readonly waiting: Job[] = [];
  private running = 0;

  constructor(private readonly atOnce_max: number) {}

  run<T>(task: (signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T> {
    return new Promise((resolve, reject) => {
      const job = () => {
        if (signal.aborted) {
          this.done();
          return;
        }
        task(signal)
          .then(resolve, reject)
          .finally(() => this.done());
      };
      signal.addEventListener("abort", () => {
        const at = this.waiting.indexOf(job);
        if (at >= 0) this.waiting.splice(at, 1);
        reject(signal.reason);
      });
      this.waiting.push(job);
      this.start();
    });
  }

  private done(): void {
    this.running -= 1;
    this.start();
  }

  private start(): void {
    while (this.running < this.atOnce_max) {
      const job = this.waiting.shift();
      if (!job) return;
      this.running += 1;
      job();
    }
  }
}
