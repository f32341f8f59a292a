package dev.verbena.soft;

/** An XRC domain, as one context opened it. */
final class SoftXrcDomain extends SoftObject {
  final SoftContext context;
  final XrcRoot root;

  SoftXrcDomain(SoftContext context, CStruct struct, XrcRoot root) {
    super(context.device, struct);
    this.context = context;
    this.root = root;
  }
}
