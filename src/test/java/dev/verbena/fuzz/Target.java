package dev.verbena.fuzz;

import dev.verbena.verbs.Device;
import java.net.InetAddress;
import java.util.List;

/** What is fuzzed: devices, and the means to see what was left open on them. */
interface Target {
  /** The devices; at least one. */
  List<Device> devices();

  /** Addresses that RDMA CM can bind and reach; none where there is no RDMA CM. */
  List<InetAddress> addresses();

  /** Further objects that calls use from the start. */
  default List<Object> objects() {
    return List.of();
  }

  /** The calls of a thread, with the devices that this thread finds. */
  default Runnable on(int thread, Runnable calls) {
    return calls;
  }

  /** Ends what calls did to the devices as a whole, so that everything can be closed. */
  default void restore() {}

  /** Throws what is still open, after everything was closed. Ends what lives for one round. */
  void close() throws InterruptedException;
}
