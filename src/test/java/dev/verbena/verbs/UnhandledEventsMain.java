package dev.verbena.verbs;

import dev.verbena.fake.FakeProvider;
import dev.verbena.values.AsyncEventType;

/** A program that prints whether anything but itself waits for asynchronous events. */
final class UnhandledEventsMain {
  private UnhandledEventsMain() {}

  public static void main(String[] args) throws InterruptedException {
    FakeProvider provider = new FakeProvider();
    try (Context context = FakeDevices.of(provider).open()) {
      boolean waits =
          Thread.getAllStackTraces().keySet().stream()
              .anyMatch(thread -> thread.getName().equals("verbena-poller"));
      System.out.println("waits: " + waits);
      CompletionQueue queue = context.createCompletionQueue(1);
      provider
          .internals()
          .event(context.segment().address(), AsyncEventType.CQ_ERR.code(), queue.address());
      System.out.println("taken: " + AsyncEvents.of(context).take().type());
    }
    provider.close();
  }
}
