import "./model.test";
