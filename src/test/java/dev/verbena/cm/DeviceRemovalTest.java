package dev.verbena.cm;

import static dev.verbena.testing.Need.CM;
import static dev.verbena.testing.Need.KERNEL;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.Needs;
import dev.verbena.testing.Program;
import dev.verbena.testing.RdmaResources;
import java.util.List;

/** A device that is taken away from under an identifier. */
@Needs({CM, KERNEL})
class DeviceRemovalTest {
  private static final String ADDRESS = "10.77.0.1";

  private static void run(String command) throws Exception {
    try (Program program = Program.start(List.of(command.split(" ")))) {
      program.endsWell();
    }
  }

  /** A process of its own watches: the kernel takes a device away when all its users have ended. */
  private static String seenBy(Class<?> main, String argument, String ready) throws Exception {
    run("ip link add vgone type veth peer name vgone2");
    try {
      run("ip addr add " + ADDRESS + "/24 dev vgone");
      run("ip link set vgone up");
      run("ip link set vgone2 up");
      run("rdma link add rxgone type rxe netdev vgone");
      try (Program watching = Program.start(Program.java(main, argument))) {
        watching.says(ready);
        try (Program removing = Program.start(List.of("rdma", "link", "delete", "rxgone"))) {
          String text = watching.endsWell();
          removing.endsWell();
          return text;
        }
      }
    } finally {
      run("ip link del vgone");
    }
  }

  @DeviceTest
  void removalIsReported() throws Exception {
    RdmaResources.requireToldBeforeWaitedFor();
    String text = seenBy(RemovalMain.class, ADDRESS, RemovalMain.READY);
    assertTrue(text.contains("[DEVICE_REMOVAL, true, true]"), text);
  }

  @DeviceTest
  void contextsOfARemovedDeviceAreClosed() throws Exception {
    String text = seenBy(GoneContextMain.class, "rxgone", GoneContextMain.READY);
    assertTrue(text.contains("[gone, true, false]"), text);
  }

  @DeviceTest
  void connectionsAreClosedAndMadeAgain() throws Exception {
    RdmaResources.requireToldBeforeWaitedFor();
    run("ip link add vgone type veth peer name vgone2");
    try {
      run("ip addr add " + ADDRESS + "/24 dev vgone");
      run("ip link set vgone up");
      run("ip link set vgone2 up");
      run("rdma link add rxgone type rxe netdev vgone");
      try (Program connected =
          Program.start(Program.java(LostDeviceMain.class, "rxgone", ADDRESS))) {
        connected.says(LostDeviceMain.READY);
        run("rdma link delete rxgone");
        connected.says(LostDeviceMain.CLOSED);
        run("rdma link add rxgone type rxe netdev vgone");
        assertTrue(connected.endsWell().contains(LostDeviceMain.DONE), connected::text);
      }
      run("rdma link delete rxgone");
    } finally {
      run("ip link del vgone");
    }
  }
}
