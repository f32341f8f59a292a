package dev.verbena.tools;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.testing.Program;
import dev.verbena.tools.Check.Verdict;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The doctor's verdicts on pictures of machines. */
class DoctorTest {
  @TempDir private Path root;

  @Test
  void missingModuleHasARemedy() {
    List<Check> checks = new KernelChecks(new Machine(root)).run();
    assertEquals(Verdict.PROBLEM, checks.getFirst().verdict());
    assertTrue(checks.getFirst().advice().contains("modprobe ib_uverbs"));
  }

  @Test
  void completeHostHasNoProblem() throws IOException {
    device();
    write("/dev/infiniband/uverbs0", "");
    write("/dev/infiniband/rdma_cm", "");
    for (Check check : new KernelChecks(new Machine(root)).run()) {
      assertEquals(Verdict.OK, check.verdict(), check.finding());
    }
  }

  @Test
  void missingDeviceNodesHaveARemedy() throws IOException {
    device();
    List<Check> checks = new KernelChecks(new Machine(root)).run();
    assertTrue(
        checks.stream()
            .anyMatch(
                check ->
                    check.verdict() == Verdict.PROBLEM
                        && check.advice().contains("--device=/dev/infiniband")));
  }

  @Test
  void driverWithoutDeviceHasARemedy() throws IOException {
    write("/sys/class/infiniband_verbs/abi_version", "6");
    write("/sys/module/rdma_rxe/refcnt", "0");
    assertTrue(
        new KernelChecks(new Machine(root))
            .run().stream().anyMatch(check -> check.advice().contains("rdma link add")));
  }

  @Test
  void smallLockedMemoryLimitIsNoted() throws IOException {
    write(
        "/proc/self/limits",
        "Max locked memory         65536                65536                bytes     \n");
    Check check = new LimitChecks(new Machine(root)).run().getFirst();
    assertEquals(Verdict.NOTE, check.verdict());
    assertTrue(check.finding().contains("64 KiB"), check.finding());
    assertTrue(check.advice().contains("ulimit -l"));
  }

  @Test
  void unlimitedLockedMemoryIsOk() throws IOException {
    write(
        "/proc/self/limits",
        "Max locked memory         unlimited            unlimited            bytes     \n");
    write("/proc/meminfo", "HugePages_Total:       8\nHugePages_Free:        5\n");
    List<Check> checks = new LimitChecks(new Machine(root)).run();
    assertEquals(Verdict.OK, checks.get(0).verdict());
    assertEquals("huge pages: 5 of 8 free", checks.get(1).finding());
  }

  private Check lockedMemory(String capabilities, String userIds) throws IOException {
    write(
        "/proc/self/limits",
        "Max locked memory         65536                65536                bytes     \n");
    write("/proc/self/status", "Name:\tjava\nCapEff:\t" + capabilities + "\n");
    write("/proc/self/uid_map", userIds + "\n");
    return new LimitChecks(new Machine(root)).run().getFirst();
  }

  @Test
  void theCapabilityLiftsTheLimitInTheInitialUserNamespaceOnly() throws IOException {
    String all = "         0          0 4294967295";
    assertEquals(Verdict.OK, lockedMemory("0000000000004000", all).verdict());
    assertEquals(Verdict.NOTE, lockedMemory("000001ffffffbfff", all).verdict());
    assertEquals(Verdict.NOTE, lockedMemory("000001ffffffffff", "0 1000 65536").verdict());
  }

  @Test
  void limitsOfTheRdmaCgroupAreNoted() throws IOException {
    write("/proc/self/cgroup", "0::/pod/container\n");
    write(
        "/sys/fs/cgroup/pod/container/rdma.max",
        "mlx5_0 hca_handle=2 hca_object=2000\nmlx5_1 hca_handle=max hca_object=max\n");
    List<Check> checks = new LimitChecks(new Machine(root)).run();
    assertTrue(
        checks.stream()
            .anyMatch(c -> c.verdict() == Verdict.NOTE && c.finding().contains("hca_object=2000")),
        checks::toString);
    assertTrue(
        checks.stream().anyMatch(c -> c.finding().equals("RDMA cgroup: no limit for mlx5_1")),
        checks::toString);
  }

  @Test
  void theModeOfNetworkNamespacesIsNamed() throws IOException {
    write("/sys/module/ib_core/parameters/netns_mode", "N\n");
    List<Check> checks = new LimitChecks(new Machine(root)).run();
    assertTrue(
        checks.stream().anyMatch(c -> c.finding().contains("rdma dev set")), checks::toString);
  }

  @Test
  void withoutRdmaTheSoftwareDeviceIsAChoice() {
    List<Check> choices = new DeviceChoices(new Machine(root)).run();
    assertEquals(5, choices.size());
    assertEquals("NIC: none", choices.get(0).finding());
    assertTrue(choices.get(1).finding().endsWith("not included in this kernel"));
    assertTrue(choices.get(2).finding().startsWith("the lab"));
    assertEquals(Verdict.OK, choices.get(3).verdict());
    assertTrue(choices.get(3).finding().contains("-Ddev.verbena.soft=2"));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "0100007F:14D7 | false | OK | UDP port 4791 is free",
        "0200007F:12B7 | true | OK | in use on 127.0.0.2, and free on other addresses",
        "00000000:12B7 | true | NOTE | taken by the kernel's Soft-RoCE",
        "00000000:12B7 | false | NOTE | taken by another process",
        "00000000000000000000000000000000:12B7 | true | NOTE | taken by the kernel's Soft-RoCE",
        "000000FD000000000000000001000000:12B7 | true | OK | in use on fd00:0:0:0:0:0:0:1,"
      })
  void thePortOfRoceIsFreeOrTaken(
      String local, boolean hasSoftRoce, Verdict verdict, String finding) throws IOException {
    write(
        local.length() > 13 ? "/proc/net/udp6" : "/proc/net/udp",
        "   sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid\n"
            + "  12: "
            + local
            + " 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 7 2 0 0\n");
    if (hasSoftRoce) {
      write("/sys/module/rdma_rxe/refcnt", "0");
    }
    Check check = new RocePort(new Machine(root)).check();
    assertEquals(verdict, check.verdict());
    assertTrue(check.finding().contains(finding), check.finding());
  }

  @Test
  void moduleOfSoftRoceIsAChoice() throws IOException {
    write("/sys/module/rdma_rxe/refcnt", "0");
    Check softRoce = new DeviceChoices(new Machine(root)).run().get(1);
    assertEquals(Verdict.NOTE, softRoce.verdict());
    assertTrue(softRoce.advice().contains("rdma link add"), softRoce.advice());
  }

  @Test
  void nicAndSoftRoceAreToldApart() throws IOException {
    write("/sys/class/infiniband/mlx5_0/node_type", "1: CA");
    write("/sys/class/infiniband/rxe0/parent", "eth0");
    List<Check> choices = new DeviceChoices(new Machine(root)).run();
    assertEquals("NIC: mlx5_0", choices.get(0).finding());
    assertEquals("Soft-RoCE, the kernel's software device: rxe0", choices.get(1).finding());
    assertEquals(Verdict.OK, choices.get(1).verdict());
  }

  @Test
  void releaseIsReadFromTheFileName() {
    List<String> maps =
        List.of(
            "7f00-7f01 r--p 00000000 08:01 1 /usr/lib/libibverbs.so.1.14.44.0",
            "7f02-7f03 r--p 00000000 08:01 2 /usr/lib/librdmacm.so.1.3.44.0");
    assertEquals(" of rdma-core 44.0", JavaChecks.release(maps));
    assertEquals("", JavaChecks.release(List.of()));
  }

  @ParameterizedTest
  @CsvSource({"0, 1, 2 problems to solve", "2, 0, RDMA can be used here"})
  void anotherSystemThanLinuxHasTheSoftwareDevicesOfOneJvm(String soft, int status, String verdict)
      throws Exception {
    List<String> options =
        List.of("-XX:TieredStopAtLevel=1", "-Dos.name=Other", "-Ddev.verbena.soft=" + soft);
    try (Program doctor = Program.start(Program.java(options, Main.class, "doctor"))) {
      assertEquals(status, doctor.exitStatus(), doctor.text());
      String text = doctor.text();
      assertTrue(text.contains(verdict), text);
      assertTrue(text.contains("-Ddev.verbena.soft=2"), text);
      for (String ofLinux : List.of("udp", "UDP", "modprobe", "/dev/infiniband", "libibverbs")) {
        assertFalse(text.contains(ofLinux), ofLinux + " in\n" + text);
      }
    }
  }

  private void device() throws IOException {
    write("/sys/class/infiniband_verbs/abi_version", "6");
    write("/sys/class/infiniband/rxe0/node_type", "1: CA");
  }

  private void write(String path, String text) throws IOException {
    Path file = root.resolve(path.substring(1));
    Files.createDirectories(file.getParent());
    Files.writeString(file, text);
  }
}
