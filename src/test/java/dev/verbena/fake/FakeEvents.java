package dev.verbena.fake;

import dev.verbena.VerbsException;
import dev.verbena.internal.Memory;
import dev.verbena.raw.ibv_async_event;
import dev.verbena.testing.Pipe;

/** Asynchronous events: the bytes of a {@code struct ibv_async_event} through a pipe. */
final class FakeEvents {
  private final FakeDevice device;
  private int unacknowledged;

  FakeEvents(FakeDevice device) {
    this.device = device;
  }

  /** Announces something that happened to a C object, or to a port. */
  void announce(long context, int type, long element) {
    CStruct event =
        CStruct.in(device.arena, ibv_async_event.layout())
            .putLong("element", element)
            .putInt("event_type", type);
    device.asyncPipes.get(context).write(Memory.at(event.address(), ibv_async_event.sizeof()));
  }

  public void ibv_get_async_event(long context, long event) {
    Pipe pipe;
    synchronized (device) {
      pipe = device.asyncPipes.get(context);
    }
    long read = pipe.read(Memory.at(event, ibv_async_event.sizeof()));
    if (read < 0) {
      throw new VerbsException("ibv_get_async_event", (int) -read);
    }
    synchronized (device) {
      unacknowledged++;
    }
  }

  public void ibv_ack_async_event(long event) {
    synchronized (device) {
      if (unacknowledged-- <= 0) {
        throw new IllegalStateException("acknowledged more events than were taken");
      }
    }
  }
}
