import dev.verbena.flow.FlowMatch;
import dev.verbena.flow.FlowRule;
import dev.verbena.packet.PacketBuffers;
import dev.verbena.packet.PacketPort;
import dev.verbena.util.ReceiveRing;
import dev.verbena.verbs.Device;
import java.time.Duration;

/**
 * Raw Ethernet frames: prints the length of each UDP packet to port 4000 until none came for 2 s.
 * Needs a device with raw packet queue pairs and the capability CAP_NET_RAW.
 *
 * <p>{@code java --enable-native-access=ALL-UNNAMED -cp verbena.jar RawPackets.java mlx5_0}
 */
public class RawPackets {
  public static void main(String[] args) throws InterruptedException {
    if (args.length != 1) {
      System.out.println("Usage: RawPackets DEVICE");
      return;
    }
    try (PacketPort port = PacketPort.on(Device.named(args[0]), 1).receives(256).open();
        PacketBuffers packets = port.packets(256).fragment(2048, 0).create();
        FlowRule rule =
            port.flow()
                .match(FlowMatch.ethernet().type(0x0800))
                .match(FlowMatch.ipv4())
                .match(FlowMatch.udp().destination(4000))
                .create()) {
      System.out.println("receiving by " + rule);
      ReceiveRing ring = port.startReceiving(packets.receives(256));
      while (port.awaitReceived(Duration.ofSeconds(2)) > 0) {
        ring.handle(
            port.received(),
            (batch, i, request) -> {
              System.out.println(batch.byteLength(i) + " bytes");
              return true; // post the receive request again
            });
      }
    }
  }
}
