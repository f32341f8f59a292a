package dev.verbena.verbs;

import static dev.verbena.testing.Need.KERNEL;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.address.Gid;
import dev.verbena.attributes.PortState;
import dev.verbena.testing.Await;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.Needs;
import dev.verbena.testing.Rig;
import dev.verbena.values.AsyncEventType;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Assumptions;

/** What a port tells while its network interface changes: on a device of the test's own. */
@Needs(KERNEL)
class PortEventsTest {
  private static final String INTERFACE = "vev";
  private static final String PEER = "vevpeer";
  private static final String DEVICE = "rxev";

  @DeviceTest
  void reportsLinkAndAddressChanges() throws Exception {
    Assumptions.assumeTrue(Rig.labGuest().isPresent(), "needs a machine to make devices on");
    run("ip link add " + INTERFACE + " type veth peer name " + PEER);
    try {
      run("ip link set " + INTERFACE + " up");
      run("ip link set " + PEER + " up");
      run("rdma link add " + DEVICE + " type rxe netdev " + INTERFACE);
      try (Context context = Device.named(DEVICE).open()) {
        assertEquals(PortState.ACTIVE, context.port(1).attributes().state());
        run("ip addr add 10.77.0.1/24 dev " + INTERFACE);
        expect(context, AsyncEventType.GID_CHANGE);
        assertTrue(
            context.port(1).gidTable().stream()
                .anyMatch(entry -> entry.gid().equals(Gid.parse("::ffff:10.77.0.1"))));
        run("ip link set " + INTERFACE + " down");
        expect(context, AsyncEventType.PORT_ERR);
        assertEquals(PortState.DOWN, context.port(1).attributes().state());
        run("ip link set " + INTERFACE + " up");
        expect(context, AsyncEventType.PORT_ACTIVE);
        assertEquals(PortState.ACTIVE, context.port(1).attributes().state());
      } finally {
        run("rdma link delete " + DEVICE); // Only once nobody has it open: it would wait.
      }
    } finally {
      run("ip link del " + INTERFACE);
    }
  }

  /** Takes events of port 1 until the expected one is among them. */
  private static void expect(Context context, AsyncEventType expected) throws Exception {
    Set<AsyncEventType> seen = EnumSet.noneOf(AsyncEventType.class);
    while (!seen.contains(expected)) {
      AsyncEvent event = AsyncEvents.of(context).poll(Await.LIMIT);
      assertTrue(event != null, () -> "only " + seen + " in 20 s, not " + expected);
      if (event instanceof AsyncEvent.OfPort(var type, int port)) {
        assertEquals(1, port);
        seen.add(type);
      }
    }
  }

  private static void run(String command) throws IOException, InterruptedException {
    Process process =
        new ProcessBuilder(List.of(command.split(" "))).redirectErrorStream(true).start();
    String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertEquals(0, process.waitFor(), () -> command + ": " + output);
  }
}
