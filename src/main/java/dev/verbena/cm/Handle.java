package dev.verbena.cm;

import dev.verbena.internal.Librdmacm;

/** One {@code rdma_cm_id}, the channel that C reports its events on, and how it is given back. */
final class Handle {
  private final Librdmacm rdmacm;
  private final long address;
  private final boolean endpoint;

  /** Null in synchronous mode, where C waits on a channel of its own. */
  private volatile EventChannel channel;

  Handle(Librdmacm rdmacm, long address, EventChannel channel, boolean endpoint) {
    this.rdmacm = rdmacm;
    this.address = address;
    this.channel = channel;
    this.endpoint = endpoint;
  }

  long address() {
    return address;
  }

  EventChannel channel() {
    return channel;
  }

  /** Reports elsewhere from now on, or nowhere. */
  void channel(EventChannel newChannel) {
    channel = newChannel;
  }

  /** Runs something that C must not be reading an event of the identifier during. */
  void whileNobodyReads(Runnable action) {
    EventChannel current = channel;
    if (current == null) {
      action.run();
    } else {
      current.whileNobodyReads(action);
    }
  }

  void destroy() {
    whileNobodyReads(
        () -> {
          if (endpoint) {
            rdmacm.rdma_destroy_ep(address);
          } else {
            rdmacm.rdma_destroy_id(address);
          }
          if (channel != null) {
            channel.remove(address);
          }
        });
  }
}
