package dev.verbena.verbs;

import static dev.verbena.testing.DeviceKind.MLX5;
import static dev.verbena.testing.DeviceKind.SOFTWARE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.On;
import dev.verbena.testing.Rig;
import dev.verbena.values.CompletionStatus;
import dev.verbena.values.QueuePairType;
import dev.verbena.values.XrcDomainFlag;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;

/** Extended reliable connections, with a sender and a receiver. */
@On(
    value = {SOFTWARE, MLX5},
    reason = "Soft-RoCE has no XRC")
class XrcDeviceTest {
  @DeviceTest
  void messagesGoToTheSharedReceiveQueueThatTheyName() {
    try (Pair pair = new Pair()) {
      XrcDomain domain = Rig.orSkip(() -> XrcDomain.open(pair.b.context));
      CompletionQueue first = pair.b.context.createCompletionQueue(8);
      CompletionQueue second = pair.b.context.createCompletionQueue(8);
      SharedReceiveQueue one =
          SharedReceiveQueue.builder(pair.b.domain, 4).xrc(domain, first).create();
      SharedReceiveQueue two =
          SharedReceiveQueue.builder(pair.b.domain, 4).xrc(domain, second).create();
      connect(pair, domain);
      ReceiveList receive = new ReceiveList(1, 1);
      receive.local(0, pair.b.memory, 0, 64);
      assertEquals(1, one.post(receive));
      receive.local(0, pair.b.memory, 64, 64);
      assertEquals(1, two.post(receive));
      pair.a.memory.memory().setString(0, "for the second");
      pair.a.run(message(pair, two.number()));
      Pair.completion(second, CompletionStatus.SUCCESS);
      assertEquals("for the second", pair.b.memory.memory().getString(64));
      pair.a.memory.memory().setString(0, "for the first");
      pair.a.run(message(pair, one.number()));
      Pair.completion(first, CompletionStatus.SUCCESS);
      assertEquals("for the first", pair.b.memory.memory().getString(0));
    }
  }

  @DeviceTest
  void unknownSharedReceiveQueueIsAnInvalidRequest() {
    try (Pair pair = new Pair()) {
      connect(pair, Rig.orSkip(() -> XrcDomain.open(pair.b.context)));
      pair.a.run(message(pair, 77), CompletionStatus.REM_INV_REQ_ERR);
    }
  }

  /** The errors are those of {@code ib_uverbs_open_xrcd} of the kernel. */
  @DeviceTest
  void aFileHasOneDomain(@TempDir Path directory) throws IOException {
    try (Context context = Rig.a().open()) {
      Rig.orSkip(() -> XrcDomain.open(context));
      Path file = Files.createTempFile(directory, "xrc", null);
      Path link = Files.createLink(directory.resolve("link"), file);
      assertEquals(Errno.EAGAIN, errno(() -> XrcDomain.open(context, file)));
      XrcDomain domain = XrcDomain.open(context, file, XrcDomainFlag.CREAT, XrcDomainFlag.EXCL);
      assertEquals(
          Errno.EINVAL,
          errno(() -> XrcDomain.open(context, link, XrcDomainFlag.CREAT, XrcDomainFlag.EXCL)));
      XrcDomain.open(context, link).close();
      domain.close();
      assertEquals(Errno.EAGAIN, errno(() -> XrcDomain.open(context, link)));
    }
  }

  private static int errno(Executable call) {
    return assertThrows(VerbsException.class, call).errno();
  }

  /** Connects the sending end of a with a receiving end of b. */
  private static void connect(Pair pair, XrcDomain domain) {
    pair.a.queuePair = pair.a.builder(QueuePairType.XRC_SEND).create();
    pair.b.queuePair = QueuePair.builder(domain).create();
    pair.connect();
  }

  private static SendList message(Pair pair, int queue) {
    SendList list = new SendList(1, 1);
    list.send(0).local(pair.a.memory, 0, 64).sharedReceiveQueue(queue).signaled();
    return list;
  }
}
