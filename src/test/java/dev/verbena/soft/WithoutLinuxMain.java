package dev.verbena.soft;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.cm.EventChannel;
import dev.verbena.verbs.CompletionChannel;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.Device;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.Verbena;
import dev.verbena.verbs.XrcDomain;
import java.net.InetAddress;
import java.nio.file.Path;
import java.util.concurrent.Callable;

/**
 * A program of another operating system than Linux: what it can use, and the refusals of the rest.
 */
final class WithoutLinuxMain {
  private WithoutLinuxMain() {}

  public static void main(String[] args) throws Exception {
    System.out.println("supported: " + Verbena.isSupported());
    show("devices", Device::list);
    show("over UDP", () -> SoftNetwork.overUdp(InetAddress.getLoopbackAddress()));
    try (SoftHosts hosts = SoftHosts.create()) {
      hosts.client().send("hello".getBytes(UTF_8));
      System.out.println("received: " + new String(hosts.server().receive(), UTF_8));
      ProtectionDomain domain = hosts.clientContext().allocateProtectionDomain();
      hosts.faults().fail("ibv_reg_mr", 1, Errno.ENOMEM);
      show("refused", () -> domain.memory(1).allocate());
      show("prefaulted", () -> domain.memory(5000).prefault().allocate().length());
      show("huge pages", () -> domain.memory(1).hugePages(2 << 20).allocate());
      show("node", () -> domain.memory(1).numaNode(0).allocate());
      show("channel", () -> descriptor(hosts.clientContext()));
      show("CM", () -> hosts.call(WithoutLinuxMain::descriptorOfCm));
      show("file", () -> XrcDomain.open(hosts.clientContext(), Path.of("pom.xml")));
    }
  }

  private static int descriptor(Context context) {
    try (CompletionChannel channel = context.createCompletionChannel()) {
      return channel.descriptor();
    }
  }

  private static int descriptorOfCm() {
    try (EventChannel channel = EventChannel.open()) {
      return channel.descriptor();
    }
  }

  private static void show(String what, Callable<?> call) throws Exception {
    try {
      System.out.println(what + ": " + call.call());
    } catch (UnsupportedOperationException | VerbsException e) {
      System.out.println(what + ": " + e.getMessage());
    }
  }
}
