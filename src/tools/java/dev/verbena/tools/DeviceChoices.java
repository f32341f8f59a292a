package dev.verbena.tools;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.function.Predicate;

/** The kinds of device that programs can use on this host, and how to get each. */
final class DeviceChoices {
  private final Machine machine;
  private final KernelChecks kernel;

  DeviceChoices(Machine machine) {
    this.machine = machine;
    this.kernel = new KernelChecks(machine);
  }

  List<Check> run() {
    return List.of(nic(), softRoce(), lab(), inOneJvm(), new RocePort(machine).check());
  }

  private List<String> devices(Predicate<String> kind) {
    return machine.names("/sys/class/infiniband").stream().filter(kind).toList();
  }

  /** Only Soft-RoCE devices have the name of a parent network interface. */
  private boolean isSoftRoce(String device) {
    return machine.has("/sys/class/infiniband/" + device + "/parent");
  }

  private Check nic() {
    List<String> nics = devices(Predicate.not(this::isSoftRoce));
    return nics.isEmpty()
        ? Check.note("NIC: none", "install an RDMA NIC, and its driver")
        : Check.ok("NIC: " + String.join(", ", nics));
  }

  private Check softRoce() {
    List<String> devices = devices(this::isSoftRoce);
    if (!devices.isEmpty()) {
      return Check.ok("Soft-RoCE, the kernel's software device: " + String.join(", ", devices));
    }
    return kernel.canHaveSoftRoce()
        ? Check.note("Soft-RoCE, the kernel's software device: none", KernelChecks.SOFTWARE)
        : Check.note(
            "Soft-RoCE, the kernel's software device: not included in this kernel",
            "use a kernel with the module rdma_rxe, such as that of the lab");
  }

  private static Check lab() {
    String home = System.getProperty("verbena.home");
    return home != null && Files.isExecutable(Path.of(home, "src/lab/lab"))
        ? Check.ok("the lab, a virtual machine with Soft-RoCE: src/lab/lab run COMMAND")
        : Check.note(
            "the lab, a virtual machine with Soft-RoCE: not available here",
            "clone the repository, and run ./verbena there");
  }

  /** The software devices of one JVM, which need no operating system of their own. */
  static Check inOneJvm() {
    return Check.ok(
        "software device, in the JVM: --both-ends for the programs of this command line,"
            + " -Ddev.verbena.soft=2 or VERBENA_SOFT=2 for others");
  }
}
