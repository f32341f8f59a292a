package dev.verbena.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.cm.ConnectionId;
import dev.verbena.cm.EventChannel;
import dev.verbena.cm.PortSpace;
import dev.verbena.internal.ThreadDomains;
import dev.verbena.soft.SoftNetwork;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** The thread domains of direct queue pairs are deallocated with their context. */
class ThreadDomainsOfContextsTest {
  private static final InetAddress ADDRESS = InetAddress.ofLiteral("192.0.2.1");
  private static final String KIND = "thread domain";

  /** Allocates those of a context as a direct queue pair does, which software devices lack. */
  private static void use(Context context) {
    try (ProtectionDomain domain = context.allocateProtectionDomain();
        ThreadDomains.Place place =
            context.directPath().threadDomains().place(domain::inThreadDomain)) {
      assertTrue(place.ownsRegister());
    }
  }

  @Test
  void thoseOfAContextOfTheProgram() throws Exception {
    try (SoftNetwork network = SoftNetwork.create()) {
      try (Context context = network.addDevice("soft0", ADDRESS).open()) {
        use(context);
        assertEquals(2, network.openObjects().get(KIND));
      }
      assertEquals(Map.of(), network.openObjects());
    }
  }

  @Test
  void thoseOfAContextOfRdmaCm() throws Exception {
    try (SoftNetwork network = SoftNetwork.create()) {
      var _ = network.addDevice("soft0", ADDRESS);
      try (EventChannel channel = network.call(EventChannel::open);
          ConnectionId id = channel.createId(PortSpace.TCP)) {
        id.bind(new InetSocketAddress(ADDRESS, 0));
        try (Context context = id.context()) {
          use(context);
          assertEquals(2, network.openObjects().get(KIND));
        }
        assertEquals(null, network.openObjects().get(KIND));
      }
    }
  }
}
