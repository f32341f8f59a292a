package dev.verbena.tools;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Checks the kernel modules and the permissions of this process. */
final class KernelChecks {
  /** How to create a Soft-RoCE device. */
  static final String SOFTWARE =
      "sudo modprobe rdma_rxe && sudo rdma link add rxe0 type rxe netdev NAME (package iproute2)";

  private final Machine machine;

  KernelChecks(Machine machine) {
    this.machine = machine;
  }

  List<Check> run() {
    List<Check> checks = new ArrayList<>();
    checks.add(uverbs());
    checks.add(devices());
    if (!machine.names("/sys/class/infiniband").isEmpty()) {
      checks.add(nodes());
    }
    checks.add(connectionManager());
    return checks;
  }

  private Check uverbs() {
    return machine.has("/sys/class/infiniband_verbs")
        ? Check.ok("kernel " + release() + " has the module ib_uverbs loaded")
        : Check.problem(
            "kernel " + release() + " does not have the module ib_uverbs loaded",
            "sudo modprobe ib_uverbs; in a container: on its host");
  }

  private String release() {
    return machine.firstLine("/proc/sys/kernel/osrelease").orElse("(unknown)");
  }

  private Check devices() {
    List<String> names = machine.names("/sys/class/infiniband");
    if (!names.isEmpty()) {
      return Check.ok("the kernel lists devices: " + String.join(", ", names));
    }
    if (machine.hasModule("rdma_rxe") || machine.hasModule("siw")) {
      return Check.problem("a software RDMA driver is loaded, but has no device", SOFTWARE);
    }
    return Check.problem(
        "the kernel lists no RDMA device",
        "load the driver of the NIC; without a NIC: see Choices below");
  }

  boolean canHaveSoftRoce() {
    String folder = "/lib/modules/" + release() + "/kernel/drivers/infiniband/sw/rxe";
    return machine.hasModule("rdma_rxe") || machine.has(folder);
  }

  private Check nodes() {
    List<String> nodes =
        machine.names("/dev/infiniband").stream()
            .filter(name -> name.startsWith("uverbs"))
            .toList();
    if (nodes.isEmpty()) {
      return Check.problem(
          "there are devices, but no /dev/infiniband/uverbs*",
          "in a container: --device=/dev/infiniband; else check that udev runs");
    }
    List<String> closed =
        nodes.stream().filter(name -> !isUsable("/dev/infiniband/" + name)).toList();
    return closed.isEmpty()
        ? Check.ok("permission to open " + String.join(", ", nodes))
        : Check.problem(
            "no permission to open " + String.join(", ", closed),
            "sudo chmod 666 /dev/infiniband/uverbs*, or install rdma-core, whose udev rules do");
  }

  private Check connectionManager() {
    if (!machine.has("/dev/infiniband/rdma_cm")) {
      return Check.note(
          "no /dev/infiniband/rdma_cm: no connections by IP address (RDMA CM)",
          "sudo modprobe rdma_ucm; in a container: --device=/dev/infiniband");
    }
    return isUsable("/dev/infiniband/rdma_cm")
        ? Check.ok("permission to open rdma_cm: connections by IP address")
        : Check.note(
            "no permission to open /dev/infiniband/rdma_cm: no connections by IP address (RDMA CM)",
            "sudo chmod 666 /dev/infiniband/rdma_cm");
  }

  private boolean isUsable(String path) {
    Path node = machine.path(path);
    return Files.isReadable(node) && Files.isWritable(node);
  }
}
