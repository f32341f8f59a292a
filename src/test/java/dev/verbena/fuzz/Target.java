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

  /** What is still open, after everything was closed. Ends a target that lives for one round. */
  void close() throws InterruptedException;
}
