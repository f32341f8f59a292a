package dev.verbena.disni;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.ibm.disni.verbs.IbvSendWR;
import com.ibm.disni.verbs.IbvWC;
import com.ibm.disni.verbs.SVCPollCq;
import com.ibm.disni.verbs.SVCPostRecv;
import com.ibm.disni.verbs.SVCPostSend;
import com.ibm.disni.verbs.SVCPostSend.SendWRMod;
import com.ibm.disni.verbs.SVCPostSend.SgeMod;
import java.io.File;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.platform.commons.JUnitException;
import org.opentest4j.AssertionFailedError;

/**
 * What stateful calls allocate on the thread that posts and polls: nothing. In a JVM of their own:
 * which objects the compiler removes depends on everything that ran before.
 */
class AllocationTest {
  private static final int MESSAGES = 20_000;
  private static final int ROUNDS = 20;

  @Test
  void statefulPostsAndPollsAllocateNothing() throws Exception {
    List<String> path =
        List.of(
            OtherJvm.own(),
            OtherJvm.tests(),
            OtherJvm.library(),
            OtherJvm.disni(),
            OtherJvm.logging(),
            String.join(
                File.pathSeparator,
                OtherJvm.location(Test.class),
                OtherJvm.location(JUnitException.class),
                OtherJvm.location(AssertionFailedError.class)));
    String output = OtherJvm.run(0, List.of(), path, Exchange.class);
    assertEquals("0 bytes in " + MESSAGES + " messages", output);
  }

  /** Exchanges messages, and prints the bytes of the round that allocated least. */
  static final class Exchange {
    private Exchange() {}

    public static void main(String[] arguments) throws IOException {
      var threads = (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
      try (Ends ends = new Ends()) {
        SVCPostRecv receive =
            ends.server.qp.postRecv(List.of(End.receive(1, ends.server.sge(0, 8))), null);
        SVCPostSend send =
            ends.client.qp.postSend(
                List.of(End.request(IbvSendWR.IBV_WR_SEND, 1, ends.client.sge(0, 8))), null);
        SendWRMod request = send.getWrMod(0);
        SgeMod data = request.getSgeMod(0);
        long start = ends.client.sge(0, 8).getAddr();
        long allocated = Long.MAX_VALUE;
        for (int round = 0; round < ROUNDS; round++) {
          long before = threads.getCurrentThreadAllocatedBytes();
          for (int i = 0; i < MESSAGES; i++) {
            request.setWr_id(i);
            data.setAddr(start + (i & 7) * 8);
            receive.execute();
            send.execute();
            await(ends.server.poll, ends.server.completions[0]);
            await(ends.client.poll, ends.client.completions[0]);
          }
          allocated = Math.min(allocated, threads.getCurrentThreadAllocatedBytes() - before);
        }
        System.out.println(allocated + " bytes in " + MESSAGES + " messages");
      }
    }

    private static void await(SVCPollCq poll, IbvWC completion) throws IOException {
      while (poll.execute().getPolls() == 0) {
        Thread.onSpinWait();
      }
      if (completion.getStatus() != IbvWC.IbvWcStatus.IBV_WC_SUCCESS.ordinal()) {
        throw new IllegalStateException("status " + completion.getStatus());
      }
    }
  }
}
