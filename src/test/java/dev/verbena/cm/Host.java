package dev.verbena.cm;

import dev.verbena.testing.Program;
import dev.verbena.testing.Rig;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;

/**
 * Where a program runs: a network namespace, or null for the test's own, and the address of its
 * RDMA device.
 */
record Host(String namespace, InetAddress address) {
  static Host a4() {
    return new Host(null, Rig.addressA());
  }

  static Host b4() {
    return new Host(null, Rig.addressB());
  }

  static Host a6() {
    return new Host(null, Rig.address6A());
  }

  static Host b6() {
    return new Host(null, Rig.address6B());
  }

  static Host left4() {
    return new Host("left", Rig.address("VERBENA_ADDRESS_LEFT"));
  }

  static Host right4() {
    return new Host("right", Rig.address("VERBENA_ADDRESS_RIGHT"));
  }

  static Host left6() {
    return new Host("left", Rig.address("VERBENA_ADDRESS6_LEFT"));
  }

  static Host right6() {
    return new Host("right", Rig.address("VERBENA_ADDRESS6_RIGHT"));
  }

  /** The address in digits. */
  String digits() {
    return address.getHostAddress();
  }

  InetSocketAddress at(int port) {
    return new InetSocketAddress(address, port);
  }

  Program start(List<String> command) throws Exception {
    return Program.start(
        namespace == null
            ? command
            : Program.with(
                List.of("ip", "netns", "exec", namespace), command.toArray(String[]::new)));
  }
}
