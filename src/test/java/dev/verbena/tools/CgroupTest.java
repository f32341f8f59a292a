package dev.verbena.tools;

import static dev.verbena.testing.Environment.FORKY;
import static dev.verbena.testing.Need.KERNEL;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.VerbsException;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.Needs;
import dev.verbena.testing.Once;
import dev.verbena.testing.Program;
import dev.verbena.testing.Rig;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.ProtectionDomain;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;

/** A process in a cgroup whose RDMA controller limits it. */
@Needs(KERNEL)
@Once(
    value = FORKY,
    reason =
        "a limit of the RDMA controller, which has been the same since Linux 4.11; each test starts"
            + " a JVM")
class CgroupTest {
  private static final Path ROOT = Path.of("/sys/fs/cgroup");
  private static final int OBJECTS = 6;

  private final Path group = ROOT.resolve("verbena");

  /** Allocates protection domains until the kernel refuses one. */
  static final class Allocation {
    private Allocation() {}

    public static void main(String... arguments) {
      List<ProtectionDomain> domains = new ArrayList<>();
      try (Context context = Rig.a().open()) {
        try {
          while (domains.size() <= OBJECTS) {
            domains.add(context.allocateProtectionDomain());
          }
        } catch (VerbsException e) {
          System.out.println(domains.size() + " objects, then " + e.getMessage());
        }
      }
    }
  }

  @BeforeEach
  void limit() throws Exception {
    run("mount", "-t", "cgroup2", "none", ROOT.toString());
    Files.writeString(ROOT.resolve("cgroup.subtree_control"), "+rdma");
    Files.createDirectory(group);
    Files.writeString(
        group.resolve("rdma.max"), Rig.a().name() + " hca_handle=1 hca_object=" + OBJECTS);
  }

  @AfterEach
  void unmount() throws Exception {
    Files.delete(group);
    run("umount", ROOT.toString());
  }

  private static void run(String... command) throws Exception {
    try (Program program = Program.start(command)) {
      program.endsWell();
    }
  }

  /** Starts a JVM in the group. */
  private Program start(Class<?> main, String... arguments) throws Exception {
    List<String> shell =
        List.of("bash", "-c", "echo $$ >" + group + "/cgroup.procs && exec \"$@\"", "bash");
    return Program.start(Program.with(shell, Program.java(main, arguments).toArray(String[]::new)));
  }

  @DeviceTest
  void anObjectBeyondTheLimitIsRefused() throws Exception {
    try (Program program = start(Allocation.class)) {
      String text = program.endsWell();
      assertTrue(
          text.contains(" objects, then ibv_alloc_pd: Resource temporarily unavailable (EAGAIN"),
          text);
    }
  }

  @DeviceTest
  void doctorNamesTheLimit() throws Exception {
    try (Program program = start(Main.class, "doctor")) {
      int status = program.exitStatus();
      String text = program.text();
      assertEquals(0, status, text);
      String line = "RDMA cgroup: " + Rig.a().name() + " hca_handle=1 hca_object=" + OBJECTS;
      assertTrue(text.contains(line), text);
    }
  }
}
