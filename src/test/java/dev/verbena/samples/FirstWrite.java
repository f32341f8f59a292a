package dev.verbena.samples;

import dev.verbena.values.AccessFlag;
import dev.verbena.values.QueuePairType;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.Device;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.SendList;

public class FirstWrite {
  public static void main(String[] args) {
    try (Context context = Device.list().getFirst().open();
        ProtectionDomain domain = context.allocateProtectionDomain();
        CompletionQueue queue = context.createCompletionQueue(16);
        QueuePair here = QueuePair.builder(domain, QueuePairType.RC).completions(queue).create();
        QueuePair there = QueuePair.builder(domain, QueuePairType.RC).completions(queue).create()) {

      here.connect(there.localAddress()); // between two hosts: send the address over TCP
      there.connect(here.localAddress());

      MemoryRegion source = domain.allocateMemory(4096, AccessFlag.LOCAL_WRITE);
      MemoryRegion target =
          domain.allocateMemory(4096, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE);
      source.memory().setString(0, "Hello, RDMA");

      SendList sends = new SendList(1, 1); // one request with one scatter/gather element
      sends.write(0).local(source, 0, 64).remote(target.start(), target.rkey()).signaled();
      if (here.post(sends) == 0) {
        throw new IllegalStateException("the send queue is full");
      }

      Completions completions = new Completions(1);
      while (queue.poll(completions) == 0) {
        Thread.onSpinWait();
      }
      if (!completions.isSuccess(0)) {
        throw new IllegalStateException(completions.describe(0));
      }
      System.out.println(target.memory().getString(0));
    }
  }
}
