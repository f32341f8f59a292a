package dev.verbena.disni;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.ibm.disni.RdmaActiveEndpoint;
import com.ibm.disni.RdmaActiveEndpointGroup;
import com.ibm.disni.RdmaEndpoint;
import com.ibm.disni.RdmaEndpointGroup;
import com.ibm.disni.RdmaPassiveEndpointGroup;
import com.ibm.disni.RdmaServerEndpoint;
import com.ibm.disni.verbs.IbvMr;
import com.ibm.disni.verbs.IbvQP;
import com.ibm.disni.verbs.IbvRecvWR;
import com.ibm.disni.verbs.IbvSendWR;
import com.ibm.disni.verbs.IbvSge;
import com.ibm.disni.verbs.IbvWC;
import com.ibm.disni.verbs.RdmaCmId;
import com.ibm.disni.verbs.SVCPollCq;
import com.ibm.disni.verbs.SVCPostRecv;
import com.ibm.disni.verbs.SVCPostSend;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.LinkedList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.FutureTask;
import java.util.concurrent.LinkedBlockingQueue;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** DiSNI's own endpoints and groups, over the provider. */
class EndpointsTest {
  private static final int TIMEOUT = 50;
  private static final int MESSAGES = 200;

  /** Echoes a number: the memory and the prepared calls of one end. */
  private static final class Echo {
    private final ByteBuffer memory = ByteBuffer.allocateDirect(16);
    private final SVCPostSend send;
    private final SVCPostRecv receive;

    Echo(RdmaEndpoint endpoint) throws IOException {
      IbvMr mr = endpoint.registerMemory(memory).execute().free().getMr();
      send = endpoint.postSend(List.of(End.request(IbvSendWR.IBV_WR_SEND, 1, sge(mr, 0))));
      receive = endpoint.postRecv(List.of(receive(sge(mr, 8))));
      receive.execute();
    }

    private static IbvSge sge(IbvMr mr, int offset) {
      IbvSge sge = new IbvSge();
      sge.setAddr(mr.getAddr() + offset);
      sge.setLength(8);
      sge.setLkey(mr.getLkey());
      return sge;
    }

    private static IbvRecvWR receive(IbvSge sge) {
      IbvRecvWR request = new IbvRecvWR();
      request.setSg_list(new LinkedList<>(List.of(sge)));
      return request;
    }

    void send(long value) throws IOException {
      memory.putLong(0, value);
      send.execute();
    }

    long received() throws IOException {
      long value = memory.getLong(8);
      receive.execute();
      return value;
    }
  }

  /** An endpoint whose group's thread delivers the completions. */
  private static final class Active extends RdmaActiveEndpoint {
    private final BlockingQueue<Integer> completions = new LinkedBlockingQueue<>();
    private Echo echo;

    Active(RdmaActiveEndpointGroup<Active> group, RdmaCmId id, boolean server) throws IOException {
      super(group, id, server);
    }

    @Override
    protected synchronized void init() throws IOException {
      echo = new Echo(this);
    }

    @Override
    public void dispatchCqEvent(IbvWC wc) {
      if (wc.getStatus() == IbvWC.IbvWcStatus.IBV_WC_SUCCESS.ordinal()) {
        completions.add(wc.getOpcode());
      }
    }

    private void await(int opcode) throws InterruptedException {
      assertEquals(opcode, completions.take());
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void activeGroupsEcho(boolean polling) throws Exception {
    try (Hosts hosts = new Hosts()) {
      RdmaActiveEndpointGroup<Active> group =
          hosts.call(() -> new RdmaActiveEndpointGroup<>(TIMEOUT, polling, 16, 4, 64));
      group.init((id, server) -> new Active(group, id, server));
      RdmaServerEndpoint<Active> listener = group.createServerEndpoint();
      listener.bind(Hosts.SERVER, 4);
      FutureTask<Active> accepted = new FutureTask<>(listener::accept);
      Thread.ofPlatform().daemon().start(accepted);
      Active client = group.createEndpoint();
      client.connect(Hosts.SERVER, TIMEOUT);
      Active server = accepted.get();
      for (long i = 0; i < MESSAGES; i++) {
        client.echo.send(i);
        client.await(IbvWC.IbvWcOpcode.IBV_WC_SEND.getOpcode());
        server.await(IbvWC.IbvWcOpcode.IBV_WC_RECV.getOpcode());
        server.echo.send(-server.echo.received());
        server.await(IbvWC.IbvWcOpcode.IBV_WC_SEND.getOpcode());
        client.await(IbvWC.IbvWcOpcode.IBV_WC_RECV.getOpcode());
        assertEquals(-i, client.echo.received());
      }
      assertEquals(IbvQP.IBV_QPS_RTS, client.getQp().getState());
      client.close();
      server.close();
      listener.close();
      group.close();
    }
  }

  /** An endpoint that polls itself. */
  private static final class Passive extends RdmaEndpoint {
    private final IbvWC[] wc = {new IbvWC()};
    private Echo echo;
    private SVCPollCq poll;

    Passive(RdmaEndpointGroup<Passive> group, RdmaCmId id, boolean server) throws IOException {
      super(group, id, server);
    }

    @Override
    protected synchronized void init() throws IOException {
      echo = new Echo(this);
      poll = getCqProvider().getCQ().poll(wc, 1);
    }

    private void await(int opcode) throws IOException {
      while (poll.execute().getPolls() == 0) {
        Thread.onSpinWait();
      }
      assertEquals(IbvWC.IbvWcStatus.IBV_WC_SUCCESS.ordinal(), wc[0].getStatus());
      assertEquals(opcode, wc[0].getOpcode());
    }
  }

  @Test
  void passiveGroupsEcho() throws Exception {
    try (Hosts hosts = new Hosts()) {
      RdmaPassiveEndpointGroup<Passive> group =
          hosts.call(() -> new RdmaPassiveEndpointGroup<>(TIMEOUT, 16, 4, 64));
      group.init((id, server) -> new Passive(group, id, server));
      RdmaServerEndpoint<Passive> listener = group.createServerEndpoint();
      listener.bind(Hosts.SERVER, 4);
      FutureTask<Passive> accepted = new FutureTask<>(listener::accept);
      Thread.ofPlatform().daemon().start(accepted);
      Passive client = group.createEndpoint();
      client.connect(Hosts.SERVER, TIMEOUT);
      Passive server = accepted.get();
      for (long i = 0; i < MESSAGES; i++) {
        client.echo.send(i);
        client.await(IbvWC.IbvWcOpcode.IBV_WC_SEND.getOpcode());
        server.await(IbvWC.IbvWcOpcode.IBV_WC_RECV.getOpcode());
        assertEquals(i, server.echo.received());
      }
      client.close();
      server.close();
      listener.close();
      group.close();
    }
  }
}
